"""python -m moorage_gpushare: serve schedulers, or show the cards of a cluster (`inspect`)."""

import argparse
import asyncio
import logging
import os
import signal
import sys

from aiohttp import web

from moorage.errors import MoorageError
from moorage.kube.access import load_access
from moorage_gpushare.server import PREFIX, GpuShareServer
from moorage_gpushare.table import details, read_rows, summary

logger = logging.getLogger("moorage_gpushare")


def main() -> int:
    """Do what the command line says. Returns the exit status."""
    options = _parser().parse_args()
    try:
        if options.command == "inspect":
            rows = asyncio.run(read_rows(load_access(options.kubeconfig), options.node))
            sys.stdout.write(details(rows) if options.details else summary(rows))
            return 0
        logging.basicConfig(level=os.environ.get("LOG_LEVEL", "info").upper(), format="%(levelname)s %(message)s")
        return asyncio.run(_serve(options.kubeconfig, options.address, options.port))
    except (MoorageError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _parser() -> argparse.ArgumentParser:
    kubeconfig = argparse.ArgumentParser(add_help=False)
    kubeconfig.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG", ""), help="how to reach the cluster")
    parser = argparse.ArgumentParser("moorage_gpushare", description=__doc__, parents=[kubeconfig])
    parser.add_argument("--address", default="127.0.0.1", help="the address to serve on")
    parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "39999")), help="the port to serve on")
    commands = parser.add_subparsers(dest="command")
    inspect = commands.add_parser("inspect", help="show the cards of the cluster", parents=[kubeconfig])
    inspect.add_argument("-d", "--details", action="store_true", help="show the pods, too")
    inspect.add_argument("node", nargs="?", default="", help="one node instead of all")
    return parser


async def _serve(kubeconfig: str, address: str, port: int) -> int:
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    runner = web.AppRunner(GpuShareServer(load_access(kubeconfig)).application(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port).start()
        logger.info("serving on http://%s:%d%s", address, runner.addresses[0][1], PREFIX)
        await stopping.wait()
    finally:
        await runner.cleanup()
    return 0


if __name__ == "__main__":
    sys.exit(main())
