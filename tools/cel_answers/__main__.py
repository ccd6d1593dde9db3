"""`python -m tools.cel_answers INPUTS ANSWERS`: record the answers to the expressions of INPUTS.

INPUTS is JSON: `devices`, each as in a ResourceSlice with its `driver` beside, and `expressions`. ANSWERS becomes one
JSON object a line (compressed where the name ends in .gz). Takes Go, and the public module proxy.
"""

import argparse
import gzip
import os
import subprocess
import tempfile
from pathlib import Path

MODULE = Path(__file__).parent / "module"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.cel_answers", description=__doc__)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("answers", type=Path)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "celanswers")
        environment = {**os.environ, "GOWORK": "off"}
        subprocess.run(["go", "build", "-o", program, "."], cwd=MODULE, env=environment, check=True)
        said = subprocess.run([program], input=options.inputs.read_bytes(), stdout=subprocess.PIPE, check=True).stdout
    options.answers.write_bytes(gzip.compress(said, mtime=0) if options.answers.suffix == ".gz" else said)


if __name__ == "__main__":
    main()
