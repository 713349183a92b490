#!/usr/bin/env bash
# A Slurm of one node in a folder of its own, for checks: needs root and Debian's slurm-wlm and munge.
# usage: one_node_slurm.sh start FOLDER | stop FOLDER; then export SLURM_CONF=FOLDER/slurm.conf
set -euo pipefail
action=$1
folder=$2

stop() {
  for name in slurmd slurmctld munged; do
    [ -f "$folder/$name.pid" ] || continue
    kill "$(cat "$folder/$name.pid")" 2>/dev/null || true
  done
}

start() {
  mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
  folder=$(cd "$folder" && pwd)
  chmod 755 "$folder"
  chmod 700 "$folder/munge"
  head -c 1024 /dev/urandom > "$folder/munge/key"
  chmod 600 "$folder/munge/key"
  munged --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
  host=$(hostname -s)
  cores=$(nproc)
  cat > "$folder/slurm.conf" <<CONF
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,requeue_delay=1
JobRequeue=1
KillWait=5
MaxArraySize=11
ReturnToService=2
MpiDefault=none
SlurmctldTimeout=60
SlurmdTimeout=60
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cores State=UNKNOWN
PartitionName=short Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF="$folder/slurm.conf"
  slurmctld
  slurmd -N "$host" 2>/dev/null || slurmd
  for _ in $(seq 100); do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && return 0
    sleep 0.2
  done
  echo "Slurm did not come up; see $folder/*.log" >&2
  tail -n 5 "$folder"/slurm*.log >&2
  return 1
}

"$action"
