"""Commits of many processes to one table on an S3 server, some of which are killed on the way.

    ./run bench stores                    16 writers, 10 minutes
    ./run bench stores --seconds 60
    ./run bench stores --url s3://bucket/new/table --options '{"aws_access_key_id": ...}'

Without a URL the server is versitygw, which `./run test --stores` installs. In the end an
independent replay of the log says whether every acknowledged commit is there, once, and as the
version that was acknowledged. The exit status is 1 if one is lost or doubled.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "stores"))

from real_servers import versitygw

from lakebed.storage import open_store
from testkit.readers.independent_replay import Replayed, check, copy_out
from testkit.tables.small_tables import create

SCRIPT = Path(__file__).with_name("_store_writer.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--writers", type=int, default=16, help="processes (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=600, help="default %(default)s")
    parser.add_argument("--kill-every", type=float, default=2, help="seconds (default %(default)s)")
    parser.add_argument("--url", help="of a table that does not exist")
    parser.add_argument("--options", default="{}", help="storage options as JSON")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url, options = given.url, json.loads(given.options)
        if url is None:
            server = stack.enter_context(versitygw(folder))
            url, options = f"{server.new_bucket()}/table", dict(server.storage_options)
        store = open_store(url, options)
        create(store)
        kills = run(url, options, given, folder)
        state = check(copy_out(store, folder / "copy"))
        return judge(state, folder, given, kills)


def run(url: str, options: dict[str, str], given: argparse.Namespace, folder: Path) -> int:
    until = time.time() + given.seconds
    dice, kills = random.Random(17), 0

    def start(number: int) -> subprocess.Popen[bytes]:
        name = f"writer-{number}"
        arguments = [url, json.dumps(options), name, str(until), str(folder / f"{name}.txt")]
        return subprocess.Popen([sys.executable, str(SCRIPT), *arguments])

    writers = [start(number) for number in range(given.writers)]
    try:
        while time.time() < until - 1:
            time.sleep(dice.uniform(0, 2 * given.kill_every))
            victim = dice.randrange(len(writers))
            writers[victim].kill()
            kills += writers[victim].wait() != 0
            writers[victim] = start(victim)
        failed = [writer.wait(timeout=120) for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    if any(failed):
        raise SystemExit(f"writers ended with {failed}")
    return kills


def judge(state: Replayed, folder: Path, given: argparse.Namespace, kills: int) -> int:
    there = {
        (action["add"]["path"], version)
        for version, actions in state.commits.items()
        for action in actions
        if "add" in action
    }
    acknowledged, attempts = [], 0
    for file in folder.glob("writer-*.txt"):
        for line in file.read_text().splitlines():
            number, version, tries = map(int, line.split())
            acknowledged.append((f"{file.stem}-{number}.parquet", version))
            attempts += tries
    lost = [each for each in acknowledged if each not in there]
    doubled = [path for path, count in state.added.items() if count > 1]
    races = attempts - len(acknowledged)
    print(f"writers                {given.writers}, {kills} killed and started again")
    print(f"seconds                {given.seconds:.0f}")
    print(f"commits                {len(state.commits) - 1}")
    print(f"commits per second     {(len(state.commits) - 1) / given.seconds:.1f}")
    print(f"acknowledged           {len(acknowledged)}")
    print(f"lost races, retried    {races} ({races / max(1, len(acknowledged)):.2f} per commit)")
    print("refused by conflicts   0 (a writer that is refused ends the run)")
    print(f"lost                   {len(lost)}")
    print(f"doubled                {len(doubled)}")
    return int(bool(lost or doubled))


if __name__ == "__main__":
    sys.exit(main())
