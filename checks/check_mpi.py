"""Trainings that several processes share by MPI: the bytes of one process, a rank that is killed, other data, no MPI.

Usage: check_mpi.py PROGRAM PLAIN, the program built with MPI and one without. Needs mpirun (Open MPI or MPICH).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM, PLAIN = (str(Path(path).resolve()) for path in sys.argv[1:3])
OPEN_MPI = "Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout
# More ranks than cores, and as root where a container has nobody else.
LAUNCH = ["mpirun", *(["--allow-run-as-root", "--oversubscribe"] if OPEN_MPI else [])]
ONE_THREAD = ["--threads", "1"]
SMALL = ["trajectories=12", "validation_episodes=4", "particles=8", "crop=16", "epochs=2"]
RUNS = {
    "maze-driftless": SMALL,
    "maze-sdpf": [*SMALL, "batch_size=8"],
    "maze-sdpf-released": [*SMALL, "batch_size=8"],
    "maze-lstm": [*SMALL, "epochs=1"],
    "house-driftless": ["trajectories=4", "validation_episodes=2", "epochs=2", "batch_size=10", "house.updates=5"],
    "house-sdpf": ["trajectories=4", "validation_episodes=2", "epochs=1", "batch_size=4", "particles=8", "house.steps=8"],
}


def run(command, folder, code=0):
    """Runs a command; what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    fits = done.returncode != 0 if code is None else done.returncode == code
    assert fits, f"{' '.join(command)}: exit code {done.returncode}\n{said}"
    return said


def ranks(count, *arguments, program=PROGRAM):
    return [*LAUNCH, "-n", str(count), program, *arguments, *ONE_THREAD]


def left(folder):
    """What a run leaves behind, but for seconds."""
    names = ["config.toml", "normalisation.json", "best.toml", "best.safetensors", "checkpoint.safetensors"]
    found = {name: (folder / name).read_bytes() for name in names}
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    found["log"] = [{key: value for key, value in record.items() if key != "seconds"} for record in records]
    return found


def same(a, b, what):
    a, b = left(a), left(b)
    assert a == b, f"{what}: {[name for name in a if a[name] != b[name]]} differ"


def train(name, data, run_folder, *more):
    return ["train", name, "--train", data, "--run", run_folder, *RUNS[name], *more]


def bytes_of_one_process(folder):
    for name in RUNS:
        data = "house.tfrecords" if name.startswith("house") else "maze.npz"
        run([PLAIN, *train(name, data, f"{name}-alone"), *ONE_THREAD], folder)
        for count in [1, 2, 4] if name == "maze-driftless" else [3]:
            said = run(ranks(count, *train(name, data, f"{name}-{count}")), folder)
            same(folder / f"{name}-alone", folder / f"{name}-{count}", f"{name} on {count} ranks")
            assert said.count("Next: driftless evaluate") == 1, f"rank 0 alone prints:\n{said}"
            assert (f"{count} ranks; rank 0 computed for" in said) == (count > 1), said
            assert ("updates of lstm are not divided" in said) == (name == "maze-lstm"), said
        print(f"{name}: ranks leave the bytes of one process")


def evaluation(folder):
    for name, command in [("alone", [PLAIN]), ("shared", ranks(2)[:-2])]:
        shutil.copytree(folder / "maze-driftless-alone", folder / name)
        run([*command, "evaluate", name, "--data", "unseen.npz", *ONE_THREAD], folder)
    for file in ["evaluation.json", "episodes.json"]:
        assert (folder / "alone" / file).read_bytes() == (folder / "shared" / file).read_bytes(), file
    print("evaluations: the same bytes")


def children(process):
    """Processes that a launcher has started, wherever between them there are others."""
    found = []
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        found += [int(child), *children(child)]
    return found


def killed(folder):
    arguments = train("maze-driftless", "maze.npz", "killed", "epochs=12")
    run([PLAIN, *train("maze-driftless", "maze.npz", "whole", "epochs=12"), *ONE_THREAD], folder)
    with open(folder / "killed.log", "w") as log:
        launcher = subprocess.Popen(ranks(3, *arguments), cwd=folder, stdout=log, stderr=log)
        while not (folder / "killed" / "checkpoint.safetensors").exists():
            assert launcher.poll() is None, (folder / "killed.log").read_text()
            time.sleep(0.02)
        own = [pid for pid in children(launcher.pid) if Path(f"/proc/{pid}/exe").resolve() == Path(PROGRAM)]
        of = {int(environment(pid)["PMI_RANK" if not OPEN_MPI else "OMPI_COMM_WORLD_RANK"]): pid for pid in own}
        os.kill(of[1], signal.SIGKILL)
        code = launcher.wait(60)
    assert code != 0, "a job that lost a rank failed"
    epochs = len((folder / "killed" / "log.jsonl").read_text().splitlines())
    assert epochs < 12, "the rank was killed too late to tell"
    said = run(ranks(2, "train", "--resume", "killed"), folder)
    assert "going on after epoch" in said, said
    same(folder / "whole", folder / "killed", "killed and resumed")
    print(f"a rank of three was killed after epoch {epochs}, exit code {code}; two went on to the same bytes")


def environment(pid):
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(word.decode().split("=", 1) for word in words if b"=" in word)


def other_places(folder):
    """Ranks in folders of their own: data must be the same, the run's folder need not be seen by others."""
    for name, data in [("here", "maze.npz"), ("there", "maze.npz"), ("other", "unseen.npz")]:
        (folder / name).mkdir()
        shutil.copy(folder / data, folder / name / "maze.npz")
    arguments = [PROGRAM, *train("maze-sdpf-released", "maze.npz", "run"), *ONE_THREAD]

    def in_two(second):
        places = [["-n", "1", "-wdir", str(folder / name), *arguments] for name in ["here", second]]
        return [*LAUNCH, *places[0], ":", *places[1]]

    said = run(in_two("other"), folder, None)
    assert "rank 1 has other settings or data: data.train_fingerprint is" in said, said
    assert not (folder / "here" / "run").exists(), "nothing was begun"
    run(in_two("there"), folder)
    same(folder / "maze-sdpf-released-alone", folder / "here" / "run", "a folder that rank 0 alone sees")
    assert not (folder / "there" / "run").exists(), "rank 0 alone writes"
    print("other data are refused; a folder that rank 0 alone sees is enough")


def without_mpi(folder):
    said = run(ranks(2, *train("maze-driftless", "maze.npz", "refused"), program=PLAIN), folder, None)
    assert "2 processes were started together" in said and "--features mpi" in said, said
    assert not (folder / "refused").exists()
    print("without MPI it refuses to be many")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, seed in [("maze.npz", "1"), ("unseen.npz", "2")]:
            size = ["--episodes", "16", "--steps", "12", "--size", "16"]
            run([PLAIN, "simulate", "maze1", *size, "--seed", seed, "--out", file], folder)
        run([PLAIN, "simulate", "house", "--episodes", "6", "--steps", "8", "--out", "house.tfrecords"], folder)
        bytes_of_one_process(folder)
        evaluation(folder)
        killed(folder)
        other_places(folder)
        without_mpi(folder)


main()
