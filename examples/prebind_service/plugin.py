"""Asks a service before a pod is bound, and takes that back where it is not bound after all."""

from dataclasses import dataclass
from typing import ClassVar, Final

import aiohttp

from moorage.framework import CycleState, Handle, InputError, PodInfo, Status, error, unschedulable

LICENCE: Final = "example.com/licence"
"""The annotation: what a pod needs a licence for."""


@dataclass(frozen=True)
class LicenceArgs:
    """Where the service is, and how long it may take."""

    url: str
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise InputError(f"expected an http or https URL, got {self.url!r}", where="url")


class Licences:
    """PreBind takes a licence (PUT), Unreserve gives it back (DELETE). Other pods are decided meanwhile."""

    args_type: ClassVar = LicenceArgs

    def __init__(self, args: LicenceArgs, handle: Handle) -> None:
        self.args = args
        self.handle = handle
        #: Uids of pods that may hold a licence.
        self.asked: set[str] = set()

    def reserve(self, _state: CycleState, _pod: PodInfo, _node_name: str) -> None:
        """Nothing yet: a service is no matter of the scheduling cycle, which never waits."""

    def unreserve(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        """Whatever failed: what was asked for is given back, beside what goes on."""
        if pod.uid in self.asked:
            self.asked.discard(pod.uid)
            self.handle.host.later(self._give_back(pod))

    async def pre_bind(self, _state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """A no of the service is told in its words; no answer is an error. Both are tried again after a while."""
        if LICENCE not in pod.annotations:
            return None
        self.asked.add(pod.uid)
        try:
            status, text = await self.send("PUT", pod, node_name)
        except (aiohttp.ClientError, TimeoutError) as problem:
            return error(f"the licence service does not answer: {str(problem) or 'too slow'}")
        if status == 409:
            self.asked.discard(pod.uid)
            return unschedulable(text or "no licence is free")
        return None if status < 300 else error(f"the licence service answered {status}: {text}")

    def post_bind(self, _state: CycleState, pod: PodInfo, _node_name: str) -> None:
        """The pod has it for good."""
        self.asked.discard(pod.uid)

    async def send(self, method: str, pod: PodInfo, node_name: str = "") -> tuple[int, str]:
        """One request; the same pod has the same path, so that asking twice takes one licence."""
        timeout = aiohttp.ClientTimeout(total=self.args.timeout_seconds)
        body = {"product": pod.annotations[LICENCE], "pod": pod.key, "node": node_name}
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, f"{self.args.url}/licences/{pod.uid}", json=body) as answer,
        ):
            return answer.status, (await answer.text()).strip()

    async def _give_back(self, pod: PodInfo) -> None:
        """What this raises is logged: nobody waits for it."""
        await self.send("DELETE", pod)
