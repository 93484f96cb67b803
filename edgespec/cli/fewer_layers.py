"""`edgespec models fewer-layers`: a copy of a model with layers left out, to measure."""

from pathlib import Path

import click

from edgespec.cli.doors import Shared
from edgespec.cli.flags import log_flags
from edgespec.cli.outputs import check_file, kept

_OUT = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command("fewer-layers")
@click.argument("name", metavar="MODEL")
@click.argument("layers", metavar="LAYERS")
@click.argument("file", metavar="FILE", type=_OUT)
@log_flags
@click.pass_obj
def models_fewer_layers(shared: Shared, /, name: str, layers: str, file: Path) -> None:
    """Copy some of a model's LAYERS, as 0-13,24-27, into a FILE of its own.

    Such a file can draft for the whole model. Measured, that loses time, so nothing in edgespec
    makes one by itself: edgespec doctor --pair MODEL FILE tells what it brings on your machine.
    """
    from edgespec.api.files import find_files
    from edgespec.errors import UsageError
    from edgespec.gguf.header import read_header
    from edgespec.models.fewer_layers import layers_of, write_with_layers
    from edgespec.sizes import gigabytes

    source = find_files(name, None, "none").target.path
    n_layer = read_header(source).shape.n_layer
    chosen = layers_of(layers, n_layer)
    if file.exists() and file.samefile(source):
        raise UsageError(f"{file} is the model itself", hint="name another file")
    check_file(file)
    if file.exists() and not file.is_file():
        # The finished copy takes the place of what is there, and must not take a device's.
        raise UsageError(f"{file} is no ordinary file", hint="name another one")
    shared.screen.status("copying layers")
    with kept(file):
        write_with_layers(source, chosen, file)
    size = gigabytes(file.stat().st_size)
    shared.screen.line(f"{file}: {len(chosen)} of {n_layer} layers, {size}")
