"""Sweeps on real engines: HyperQueue's server and workers, and a Slurm of one node where it can be started.

Workers and servers are killed, commands come twice, a disk runs full; in the end every file is that of a sweep that one
process ran from its beginning to its end.
"""

import hashlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target/release/driftless"
WORK = ROOT / "target/checks/queue"
SETTINGS = ["crop=16", "particles=10", "batch_size=4", "trajectories=4", "epochs=3"]
RESULTS = ["config.toml", "normalisation.json", "best.safetensors", "checkpoint.safetensors", "evaluation.json", "record.json"]
RUNS = 10
SERVER = """
import sys, time
from hyperqueue.cluster import LocalCluster, WorkerConfig
with LocalCluster(sys.argv[1], WorkerConfig(cores=1)) as cluster:
    cluster.start_worker(WorkerConfig(cores=1))
    print()
    print("server", cluster.cluster.server_dir, flush=True)
    time.sleep(600)
"""


def driftless(*words, code=0, **more):
    done = subprocess.run([PROGRAM, *map(str, words)], cwd=WORK, capture_output=True, text=True, **more)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def sweep(out, *more, code=0, **env):
    what = ["sweep", "maze-driftless-supervised", *SETTINGS, "--grid", "label_fraction=0.3,0.5"]
    what += ["--grid", f"seed=1..{RUNS // 2}", "--train", "a.npz", "--test", "b.npz", "--out", out]
    return driftless(*what, *more, code=code, env={**os.environ, **env})


def results(out):
    """Hashes of all that must not depend on who did it, and of metrics without their seconds."""
    found = {}
    for run in sorted((WORK / out / "runs").iterdir()):
        for name in RESULTS:
            found[run.name, name] = hashlib.sha256((run / name).read_bytes()).hexdigest()
        rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
        assert rows[0][2] == "seconds", rows[0]
        found[run.name, "metrics.csv"] = str([row[:2] + row[3:] for row in rows])
    assert len(found) == RUNS * (len(RESULTS) + 1), len(found)
    return found


def counts(out):
    line = driftless("sweep", "--status", out).splitlines()[0]
    return {word: int(number) for number, word in (part.split() for part in line.split(": ")[-1].split(", "))}


def wait(out, wanted, seconds=60):
    """Until so many runs are done."""
    end = time.time() + seconds
    while (now := counts(out))["done"] < wanted:
        assert time.time() < end and now["failed"] == 0, now
        time.sleep(0.2)


def owners(out):
    """Processes that work, by their claims."""
    for claim in (WORK / out / "queue").glob("*.claim-*"):
        lines = claim.read_text().splitlines()
        if len(lines) == 2:
            process = int(lines[1].split('"process":')[1].split(",")[0])
            try:
                words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes()
            except OSError:
                continue
            if out.encode() in words:
                yield process


def killing(out, moments, dice):
    """Kills a worker now and then."""
    killed = 0
    for _ in range(moments):
        time.sleep(dice.uniform(0.05, 0.4))
        for process in list(owners(out))[:1]:
            os.kill(process, signal.SIGKILL)
            killed += 1
    return killed


def start_server(folder, env):
    """A server and two workers in one process, which is returned."""
    folder.mkdir()
    server = subprocess.Popen([sys.executable, "-c", SERVER, folder], stdout=subprocess.PIPE, text=True)
    told = next(line for line in server.stdout if line.startswith("server "))
    env["HQ_SERVER_DIR"] = told.removeprefix("server ").strip()
    return server


def hyperqueue(reference):
    env = {"PATH": f"{ROOT / 'checks'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    folder = WORK / "hq-server"
    server = start_server(folder, env)
    print(sweep("hq", "--on", "hyperqueue", **env).splitlines()[1])
    sweep("hq", "--on", "hyperqueue", **env)
    killed = killing("hq", 6, random.Random(1))
    wait("hq", 3)
    server.kill()
    server.wait()
    print("killed the server, its workers and", killed, "tasks;", counts("hq"))
    told = sweep("hq", "--on", "hyperqueue", code=1, **env)
    assert "is its server running" in told and "The plan is kept" in told, told
    shutil.rmtree(folder)
    server = start_server(folder, env)
    started = time.time()
    sweep("hq", "--on", "hyperqueue", **env)
    wait("hq", RUNS)
    print(f"HyperQueue: the rest in {time.time() - started:.1f} s")
    server.kill()
    server.wait()
    assert results("hq") == reference
    print("HyperQueue: all files are those of one process")


def slurm(reference):
    if os.geteuid() != 0 or not all(shutil.which(name) for name in ["slurmctld", "slurmd", "munged"]):
        print("Slurm: SKIPPED, needs root, slurm-wlm and munge")
        return
    folder = WORK / "slurm-node"
    script = ROOT / "checks/one_node_slurm.sh"
    subprocess.run([script, "start", folder], check=True)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    try:
        told = sweep("slurm", "--on", "slurm", "--partition", "nowhere", code=1)
        assert "--partition nowhere: there is short" in told, told
        started = time.time()
        print(sweep("slurm", "--on", "slurm", "--partition", "short", "--time", "5m"))
        requeued = 0
        while counts("slurm")["done"] < RUNS:
            assert time.time() < started + 100, counts("slurm")
            running = subprocess.run(["squeue", "--noheader", "--states=RUNNING", "--format=%i"], capture_output=True, text=True)
            for job in running.stdout.split()[: 1 if requeued < 4 else 0]:
                requeued += subprocess.run(["scontrol", "requeue", job]).returncode == 0
            time.sleep(0.7)
            # Slurm keeps what was requeued waiting for two minutes.
            waiting = subprocess.run(["squeue", "--noheader", "--states=PENDING", "--array", "--format=%i %r"], capture_output=True, text=True)
            for job, reason in (line.split(maxsplit=1) for line in waiting.stdout.splitlines()):
                if reason == "BeginTime":
                    subprocess.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], capture_output=True)
        print(f"Slurm: {RUNS} runs, {requeued} of them taken from their node, in {time.time() - started:.1f} s")
    finally:
        subprocess.run([script, "stop", folder], check=True)
    time.sleep(1)
    told = sweep("slurm", "--on", "slurm", "--retry", "--grid", "epochs=1", code=1)
    assert "The plan is kept" in told, told
    assert results("slurm") == reference
    print("Slurm: all files are those of one process")


def twice_at_once(reference):
    command = [PROGRAM, "sweep", "--resume", "twice", "--jobs", "2"]
    lines = sweep("twice", "--on", "lines").splitlines()
    assert len(lines) == RUNS and all(" --line " in line for line in lines), lines
    both = [subprocess.Popen(command, cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    killed = killing("twice", 12, random.Random(2))
    both[0].kill()
    codes = [one.wait(timeout=100) for one in both]
    assert codes[0] == -signal.SIGKILL and codes[1] == 0, codes
    assert results("twice") == reference
    print(f"twice at once: one of the two and {killed} workers killed; all files are those of one process")


def full_disk(reference):
    disk = WORK / "full"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=700k", "none", disk]).returncode != 0:
        print("full disk: SKIPPED, needs root and tmpfs")
        return
    try:
        told = sweep("full/sweep", code=1)
        assert "No space left on device" in told and "nor could others" in told, told
        now = counts("full/sweep") if not shutil.disk_usage(disk).free == 0 else {"failed": 0}
        assert now["failed"] == 0, now
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        sweep("full/sweep")
        assert results("full/sweep") == reference
        print("full disk: told, nothing failed for it; with room again all files are those of one process")
    finally:
        subprocess.run(["umount", disk], check=True)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    for name, seed in [("a.npz", 1), ("b.npz", 2)]:
        driftless("simulate", "maze1", "-n", "8", "-t", "12", "--size", "16", "-s", seed, "-o", name)
    started = time.time()
    sweep("whole")
    print(f"one process: {RUNS} runs in {time.time() - started:.1f} s")
    reference = results("whole")
    twice_at_once(reference)
    full_disk(reference)
    hyperqueue(reference)
    slurm(reference)


main()
