"""Generate the Python side of `frontend.proto`: `python -m agent.frontends.generate [--check]`.

`--check` writes nothing and fails when a stored file differs from what the schema gives.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

FOLDER = Path(__file__).parent
SCHEMA = "frontend.proto"
NOTE = f"# Generated from {SCHEMA} by `python -m agent.frontends.generate`; not edited by hand.\n"


def compile_schema(folder: Path, descriptors: Path) -> None:
    """Run the protobuf compiler of grpcio-tools (a development dependency) into `folder`; the parsed schema to `descriptors`."""
    outputs = [f"--python_out={folder}", f"--pyi_out={folder}", f"--grpc_python_out={folder}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}", f"--descriptor_set_out={descriptors}", *outputs, SCHEMA]
    if subprocess.run(command, check=False).returncode != 0:
        raise SystemExit(f"{SCHEMA} does not compile, or grpcio-tools is not installed: see the message above")


def generate() -> dict[str, str]:
    """The generated files by name."""
    with tempfile.TemporaryDirectory() as made_in, tempfile.TemporaryDirectory() as beside:
        descriptors = Path(beside) / "schema"
        compile_schema(Path(made_in), descriptors)
        made = {path.name: path.read_text() for path in sorted(Path(made_in).iterdir())}
        schema = FileDescriptorSet.FromString(descriptors.read_bytes()).file[0]
    # protoc knows no packages: as written, the import works only with this folder on the path.
    absolute = ("import frontend_pb2 as frontend__pb2", "from agent.frontends import frontend_pb2 as frontend__pb2")
    made["frontend_pb2_grpc.py"] = made["frontend_pb2_grpc.py"].replace(*absolute)
    made["frontend_pb2_grpc.pyi"] = "".join(service_types(schema))
    return {name: NOTE + text for name, text in made.items()}


def service_types(schema: FileDescriptorProto) -> Iterator[str]:
    """Types of the grpc.aio stubs, which protoc leaves out."""
    yield "import grpc.aio\n\nfrom agent.frontends import frontend_pb2 as pb\n"
    for service in schema.service:
        yield f"\nclass {service.name}Stub:\n    def __init__(self, channel: grpc.aio.Channel) -> None: ...\n"
        for method in service.method:
            types = ", ".join(f"pb.{name.rpartition('.')[2]}" for name in (method.input_type, method.output_type))
            if method.client_streaming:  # both sides stream; read and written by hand, so it is called without an iterator
                yield f"    def {method.name}(self) -> grpc.aio.StreamStreamCall[{types}]: ...\n"
            else:
                yield f"    {method.name}: grpc.aio.UnaryUnaryMultiCallable[{types}]\n"
        servicer = f"{service.name}Servicer"
        yield f"\nclass {servicer}: ...\n"
        yield f"\ndef add_{servicer}_to_server(servicer: {servicer}, server: grpc.aio.Server) -> None: ...\n"


def main(arguments: list[str]) -> int:
    """Write the files, or compare them with `--check`; the exit status."""
    made = generate()
    stale = [name for name, text in made.items() if not (FOLDER / name).is_file() or (FOLDER / name).read_text() != text]
    if "--check" in arguments:
        for name in stale:
            print(f"agent/frontends/{name} does not match {SCHEMA}: run `python -m agent.frontends.generate`")
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(made[name])
    print(f"{len(made)} files, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
