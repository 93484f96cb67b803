"""Why no plan fits, with the numbers, and the nearest thing that does.

Pure. Tries what was asked for again with one wish less.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from edgespec.errors import DoesNotFit, UsageError
from edgespec.plan.fit import Fit, usable
from edgespec.plan.lines import CPU, free_for
from edgespec.plan.types import QUANT_BLOCK, Asked, PlanRequest, Room, is_quantised
from edgespec.sizes import gibibytes

Search = Callable[[PlanRequest], Fit | None]

_NO_TENSOR_MODE: Final = frozenset(
    {
        "bailingmoe3", "bitnet", "deepseek2", "deepseek32", "dots3note", "falcon-h1", "gemma3n",
        "glm-dsa", "glm5-next", "granitehybrid", "grok", "hy_v4", "jamba", "kimi-k3",
        "kimi-linear", "mamba", "mamba2", "minicpm3", "minimax-01", "minimax-m2", "minimax-m3",
        "mistral4", "mpt", "nemotron_h", "nemotron_h_moe", "olmo2", "olmoe", "plamo2", "qwen3tts",
        "qwen4exp",
    }
)  # fmt: skip
"""Source: llama.cpp src/llama-arch.cpp, llm_arch_supports_sm_tensor."""


def check(request: PlanRequest) -> None:
    """Refuse what cannot be. Raises: `UsageError`; `DoesNotFit` for layers that no GPU can take."""
    asked, target = request.asked, request.target
    if asked.split_mode == "tensor":
        _check_tensor_mode(request)
    if asked.n_ctx is not None and 0 < target.n_ctx_train < asked.n_ctx:
        raise UsageError(
            f"{target.id} was trained for {target.n_ctx_train:,} tokens of context, "
            f"not {asked.n_ctx:,}",
            hint=f"--ctx {target.n_ctx_train}",
        )
    is_packed = asked.kv_type is not None and is_quantised(asked.kv_type)
    if is_packed and target.n_head_dim % QUANT_BLOCK:
        raise UsageError(
            f"{target.id} cannot keep its cache as {asked.kv_type}: its heads of "
            f"{target.n_head_dim} values do not divide into blocks of {QUANT_BLOCK}",
            hint="--kv f16",
        )
    for wanted in (asked.devices, asked.draft_devices):
        if wanted is not None:
            _check_devices(request, wanted)
    if asked.draft_devices is not None and asked.draft == "off":
        raise UsageError(
            f"no draft model is wanted, but one shall lie on {' and '.join(asked.draft_devices)}",
            hint="name a draft model, or no device for it",
        )
    if asked.devices is not None and asked.n_gpu_layers == 0:
        raise UsageError(
            f"0 layers of {target.id} shall lie on {' and '.join(asked.devices)}",
            hint="name the device, or --gpu-layers 0 for the CPU alone",
        )
    if asked.n_gpu_layers and not usable(request):
        raise DoesNotFit(
            f"{asked.n_gpu_layers} layers of {target.id} were asked for on GPUs, and "
            f"{request.hardware.name} has none with memory to spare",
            hint="--gpu-layers 0, or none said, computes on the CPU",
        )


def _check_devices(request: PlanRequest, wanted: Sequence[str]) -> None:
    """Refuse devices that are not there, named twice, or none. Raises: `UsageError`."""
    if not wanted:
        raise UsageError(
            "a list of devices names none", hint="--gpu-layers 0 computes on the CPU alone"
        )
    names = [gpu.name for gpu in request.hardware.gpus]
    for i, name in enumerate(wanted):
        if name not in names:
            raise UsageError(
                f"{request.hardware.name} has no device {name!r}",
                hint=f"there are: {', '.join(names)}" if names else "there is the CPU only",
            )
        if name in wanted[:i]:
            raise UsageError(f"the device {name} is named twice", hint="name it once")


def _check_tensor_mode(request: PlanRequest) -> None:
    """What llama.cpp's tensor mode asks for. Raises: `UsageError`."""
    asked, target, n = request.asked, request.target, len(usable(request))
    reason = ""
    if target.architecture in _NO_TENSOR_MODE:
        reason = f"llama.cpp cannot share matrices of the architecture {target.architecture}"
    elif n < 2:
        reason = f"it shares matrices over several GPUs, and here is {n or 'none'}"
    elif asked.kv_type and is_quantised(asked.kv_type):
        reason = f"it keeps no cache of type {asked.kv_type}"
    elif asked.n_gpu_layers and asked.n_gpu_layers <= len(target.layers):
        reason = "it takes all layers or none"
    if reason:
        raise UsageError(f"--split-mode tensor cannot be: {reason}", hint="--split-mode layer")


def refusal(
    request: PlanRequest,
    tried: Fit,
    least: Fit,
    search: Search,
    is_met: Callable[[PlanRequest], bool],
) -> DoesNotFit:
    """The error for a request that nothing fits; `tried` is what was wished, `least` the smallest
    way to run the model at all.

    `search`: what fits with the longest context; `is_met`: whether a plan would be made.
    """
    short = [room for room in tried.rooms if room.lacks_bytes]
    room = short[0] if short else tried.rooms[0]
    what = request.target.id
    if tried.choice.draft is not None:
        what += f" with {tried.choice.draft.id}"
    needed, free = _apart(room.needed_bytes, room.free_bytes or 0)
    message = (
        f"{what} and a context of {tried.choice.n_ctx:,} tokens need "
        f"{needed} {_where(room)} ({_parts(tried, room)}), but {free} are free"
    )
    hint = _nearest(request, search, is_met)
    if not hint:
        parts = sum(line.size_bytes for line in least.lines if line.what != "margin")
        hint = (
            f"with {least.choice.n_ctx} tokens in a cache of type {least.choice.kv_type} it would "
            f"do with {-(-free_for(parts) >> 20):,} MiB free; take a smaller model, or a smaller "
            "quantisation of this one"
        )
    return DoesNotFit(message, hint=hint)


def _where(room: Room) -> str:
    return "of memory" if room.where == CPU else f"on {room.where}"


def _apart(needed_bytes: int, free_bytes: int) -> tuple[str, str]:
    """Two sizes, of which the first is larger, so that it can be seen."""
    needed, free = gibibytes(needed_bytes), gibibytes(free_bytes)
    if needed == free:
        return f"{-(-needed_bytes >> 20):,} MiB", f"{free_bytes >> 20:,} MiB"
    return needed, free


def _parts(tried: Fit, room: Room) -> str:
    """The largest parts first, three of them."""
    mine = sorted(
        (line for line in tried.lines if line.where == room.where), key=lambda x: -x.size_bytes
    )
    return ", ".join(f"{line.what} {gibibytes(line.size_bytes)}" for line in mine[:3])


def _nearest(request: PlanRequest, search: Search, is_met: Callable[[PlanRequest], bool]) -> str:
    """What to leave out or to say instead; empty where nothing helps."""
    for asked, words in _relaxed(request, is_met):
        found = search(replace(request, asked=asked))
        if found is not None:
            return words(found)
    return ""


def _most_layers(request: PlanRequest, is_met: Callable[[PlanRequest], bool]) -> int:
    """How many of the layers that were asked for fit with all else that was; 0: none."""

    def is_short(n: int) -> bool:
        asked = replace(request.asked, n_gpu_layers=n)
        return not is_met(replace(request, asked=asked))

    return bisect_left(range(1, request.asked.n_gpu_layers or 1), True, key=is_short)


def _relaxed(
    request: PlanRequest, is_met: Callable[[PlanRequest], bool]
) -> Iterator[tuple[Asked, Callable[[Fit], str]]]:
    """The wishes with one less, then with more, the least loss first."""
    asked = request.asked
    if asked.draft_devices is not None:
        yield replace(asked, draft_devices=None), lambda found: "without --draft-device it fits"
    if asked.split_mode is not None:
        yield replace(asked, split_mode=None), lambda found: "without --split-mode it fits"
    if asked.draft == "required":
        without = " without --draft-device" if asked.draft_devices else ""
        yield (
            replace(asked, draft="off", draft_devices=None),
            lambda found: f"--draft off{without} fits",
        )
    if asked.kv_type is not None:
        yield (
            replace(asked, kv_type=None),
            lambda found: f"with --kv {found.choice.kv_type} it fits",
        )
    if asked.n_ctx is not None:
        yield (
            replace(asked, n_ctx=None),
            lambda found: f"--ctx {found.choice.n_ctx} fits",
        )
    if asked.n_gpu_layers and (n := _most_layers(request, is_met)):
        yield replace(asked, n_gpu_layers=n), lambda found: f"--gpu-layers {n} fits"
    if asked.n_gpu_layers or asked.devices is not None:
        yield (
            replace(asked, n_gpu_layers=None, devices=None),
            lambda found: (
                f"--gpu-layers {found.choice.n_gpu_layers} fits, on "
                f"{' and '.join(found.target.devices) or 'the CPU'}"
            ),
        )
    if asked != (anything := Asked()):
        yield (
            anything,
            lambda found: f"--ctx {found.choice.n_ctx} --kv {found.choice.kv_type} fits",
        )
