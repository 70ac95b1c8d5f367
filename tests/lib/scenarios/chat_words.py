"""Chat completions in few words: messages as clients write them, answers as servers send them."""

from collections.abc import Callable, Sequence

from lab import Reply, Said, plain, sse

from thoughtkeep.turns import Json

DONE = "[DONE]"
ARGUMENTS = '{"city":"Oslo","days":2}'


def asking(model: str, **more: Json) -> Callable[[list[Json]], Json]:
    """What makes a request of messages."""
    return lambda messages: {"model": model, "stream": True, "messages": messages, **more}


def user(text: Json) -> Json:
    return {"role": "user", "content": text}


def tool(call_id: str, text: str = "4 degrees") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def call(call_id: str, name: str = "forecast", arguments: str = ARGUMENTS, **beside: Json) -> dict[str, Json]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **beside}


def assistant(content: Json = None, *calls: Json, **keys: Json) -> dict[str, Json]:
    """An assistant message; keys of its own stand behind the calls."""
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **keys}


def chunk(finish: str | None = None, index: int = 0, **delta: Json) -> dict[str, Json]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "served-by-1",
        "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
    }


def usage(total: int = 30) -> dict[str, Json]:
    return {"id": "chatcmpl-1", "choices": [], "usage": {"total_tokens": total}}


def calling(*calls: Json, index: bool = True) -> list[dict[str, Json]]:
    """One chunk a call, each call whole."""
    numbered = [{"index": n, **each} if index else each for n, each in enumerate(calls)]
    return [chunk(tool_calls=[each]) for each in numbered]


def stream(*chunks: Json, finish: str = "stop", done: bool = True) -> Reply:
    """Chunks, the one that ends the answer, and the mark."""
    return sse([*chunks, chunk(finish), *([DONE] if done else [])])


def whole(message: Json, finish: Json = "stop", **top: Json) -> Reply:
    """A plain answer."""
    return plain({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **top})


def say(reply: Reply, told: Json | Sequence[Json], sent: Json | Sequence[Json]) -> Said:
    """An answer, what the client tells of it, what must be sent of it."""
    return Said(reply, told if isinstance(told, list) else [told], sent if isinstance(sent, list) else [sent])


# -- where it goes, and what the tables share -------------------------------------------------------------------------

OPENROUTER = "https://openrouter.ai/api/v1/chat/completions"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
VERTEX = "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi/chat/completions"
DATABRICKS = "https://adb-77.4.azuredatabricks.net/ai-gateway/mlflow/v1/chat/completions"
SERVING = "https://dbc-1.cloud.databricks.com/serving-endpoints/gemini-3-pro/invocations"
DEEPSEEK = "https://api.deepseek.com/v1/chat/completions"
KIMI = "https://api.moonshot.ai/v1/chat/completions"
GLM = "https://api.z.ai/api/coding/paas/v4/chat/completions"
MINIMAX = "https://api.minimax.io/v1/chat/completions"
MISTRAL = "https://api.mistral.ai/v1/chat/completions"
QWEN = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions"
VLLM = "http://10.1.1.1:8000/v1/chat/completions"
COPILOT = "https://api.business.githubcopilot.com/chat/completions"
LITELLM = "https://litellm.example/v1/chat/completions"
VERCEL = "https://ai-gateway.vercel.sh/v1/chat/completions"
SNOWFLAKE = "https://acme.snowflakecomputing.com/api/v2/cortex/v1/chat/completions"
OPENAI = "https://api.openai.com/v1/chat/completions"
GROQ = "https://api.groq.com/openai/v1/chat/completions"
CEREBRAS = "https://api.cerebras.ai/v1/chat/completions"
UNKNOWN = "https://gateway.example/v1/chat/completions"

ASKED = user("How cold will it be?")
SIGNED = "EtMBCkgIBxABGAIqQFh5enp5"
SEALED = "gAAAAABpQ3JpbXNvbi1saWdodA=="


def text_of(text: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.text", "text": text, "index": 0, **more}


def sealed(data: str, **more: Json) -> dict[str, Json]:
    return {"type": "reasoning.encrypted", "data": data, "index": 0, **more}


GEMINI = {"format": "google-gemini-v1"}
CLAUDE = {"format": "anthropic-claude-v1"}
GPT = {"format": "openai-responses-v1"}


def google(signature: str) -> Json:
    return {"extra_content": {"google": {"thought_signature": signature}}}


LONDON = '{"city":"London"}'

SOME = asking("some-model")


def thinking(text: str, *calls: Json) -> Reply:
    """An answer with plain reasoning and calls."""
    return stream(chunk(reasoning_content=text), *calling(*calls), finish="tool_calls")


def called(*calls: Json, **keys: Json) -> Json:
    return assistant(None, *calls, **keys)
