"""Addresses, keys and the environment."""

from pathlib import Path

import pytest

from agent.clock import LoopClock
from agent.errors import Refused
from agent.llm import Deadlines, LlmRequest, LlmSettings, LocalLlm, LocalSettings, Message, OpenAiClient, llm_from_environment

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://[::1]:8080/v1/", "http://[::1]:8080/v1/chat/completions"),
        ("http://localhost/v1", "http://localhost/v1/chat/completions"),
        ("https://models.example/api/v3", "https://models.example/api/v3/chat/completions"),
        ("https://models.example/v1/chat/completions", "https://models.example/v1/chat/completions"),
        ("https://models.example/v1/chat/completions/", "https://models.example/v1/chat/completions"),
    ],
)
def test_a_base_or_the_whole_address(url: str, endpoint: str) -> None:
    assert LlmSettings(url).endpoint == endpoint


def test_errors_name_host_and_port_only() -> None:
    assert LlmSettings("https://models.example:8443/secret/path").name == "the model server models.example:8443"
    assert LlmSettings("http://[::1]:1").name == "the model server [::1]:1"


@pytest.mark.parametrize(
    "url",
    ["", "models.example", "ftp://models.example", "http://", "https:///v1", "http://127.0.0.1:99999", "http://127.0.0.1:0",
     "http://[::1", "\ud800://x",     "https://sk-secret-4711@models.example", "https://u:sk-secret-4711@models.example", "https://models.example?key=sk-secret-4711",
     "https://models.example/v1#sk-secret-4711", "https://models.example:sk-secret-4711/"],
)  # fmt: skip
def test_other_addresses_are_refused_without_quoting_them(url: str) -> None:
    with pytest.raises(Refused) as caught:
        LlmSettings(url)
    assert "VENUS_LLM_URL" in str(caught.value)
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://models.example", "http://10.0.0.7:8080", "http://127.0.0.1.example", "http://[fe80::1]", "http://0.0.0.0"]
)
def test_plain_http_leaves_this_machine_only_when_allowed(url: str) -> None:
    with pytest.raises(Refused, match="VENUS_LLM_ALLOW_HTTP=1"):
        LlmSettings(url)
    assert LlmSettings(url, allow_http=True).endpoint.startswith("http://")


@pytest.mark.parametrize("key", ["with blank", "line\nbreak", "tab\t", "é", "x" * 5_000, "\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_quoting_it(key: str) -> None:
    with pytest.raises(Refused, match="VENUS_LLM_KEY") as caught:
        LlmSettings("https://models.example", key=key)
    assert key not in str(caught.value)


def test_settings_do_not_show_the_key() -> None:
    assert "4711" not in repr(LlmSettings("https://models.example", key="sk-secret-4711"))


def test_from_the_environment() -> None:
    settings = LlmSettings.from_environment(
        {
            "VENUS_LLM_URL": "http://models.example",
            "VENUS_LLM_MODEL": "small",
            "VENUS_LLM_KEY": "k",
            "VENUS_LLM_ALLOW_HTTP": "1",
            "VENUS_LLM_TOKENS_FIELD": "max_completion_tokens",
        }
    )
    assert settings == LlmSettings("http://models.example", "small", "k", True, "max_completion_tokens")
    assert LlmSettings.from_environment({"VENUS_LLM_URL": "http://127.0.0.1"}) == LlmSettings("http://127.0.0.1")


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "VENUS_LLM_URL"),
        ({"VENUS_LLM_URL": ""}, "VENUS_LLM_URL"),
        ({"VENUS_LLM_URL": "http://127.0.0.1", "VENUS_LLM_ALLOW_HTTP": "yes"}, "VENUS_LLM_ALLOW_HTTP"),
        ({"VENUS_LLM_URL": "http://127.0.0.1", "VENUS_LLM_TOKENS_FIELD": "tokens"}, "VENUS_LLM_TOKENS_FIELD"),
    ],
)
def test_a_senseless_environment_is_refused(environment: dict[str, str], named: str) -> None:
    with pytest.raises(Refused, match=named):
        LlmSettings.from_environment(environment)


async def test_the_environment_chooses_between_server_and_embedded_model(tmp_path: Path) -> None:
    clock = LoopClock()
    assert isinstance(llm_from_environment(clock, {"VENUS_LLM_URL": "http://127.0.0.1:8080"}), OpenAiClient)
    gguf = {"VENUS_LLM_GGUF": str(tmp_path / "model.gguf")}
    assert isinstance(llm_from_environment(clock, gguf), LocalLlm)
    for threads in ("0", "99", "two", "-1"):
        with pytest.raises(Refused, match="VENUS_LLM_THREADS"):
            llm_from_environment(clock, gguf | {"VENUS_LLM_THREADS": threads})


async def test_no_server_and_no_weights_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VENUS_MODELS_DIR", str(tmp_path))
    with pytest.raises(Refused, match="venus models install"):
        llm_from_environment(LoopClock(), {})


@pytest.mark.parametrize("fields", [{"slots": 0}, {"slots": 99}, {"context_tokens": 1}, {"cache_mib": -1}])
def test_local_numbers_out_of_range(fields: dict[str, int]) -> None:
    with pytest.raises(Refused, match="the embedded model takes"):
        LocalSettings(Path("x.gguf"), **fields)


@pytest.mark.parametrize(
    "fields",
    [{"messages": ()}, {"messages": (Message("user", "x"),) * 1_001}, {"messages": (Message("user", "x" * 400_001),)},
     {"max_tokens": 0}, {"max_tokens": 8_193}, {"temperature": -0.1}, {"temperature": float("nan")}, {"stop": ("",)},
     {"stop": ("a", "b", "c", "d", "e")}],
)  # fmt: skip
def test_a_request_that_no_model_can_be_asked(fields: dict[str, object]) -> None:
    with pytest.raises(Refused):
        LlmRequest(**({"messages": (Message("user", "x"),)} | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["connect_us", "first_token_us", "between_tokens_us", "total_us"])
@pytest.mark.parametrize("value", [0, -1, 600_000_001])
def test_every_deadline_is_bounded(name: str, value: int) -> None:
    with pytest.raises(Refused, match="deadline"):
        Deadlines(**{name: value})
