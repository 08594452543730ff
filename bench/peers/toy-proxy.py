"""A two-leg proxy as small as Python's usual parts allow: FastAPI in, httpx out, on uvicorn.

It does what the toy proxy among vLLM's own tests does, in our words: a prefill leg of one token that asks
for a handoff, then the decode leg with that handoff, whose bytes go through as they come. It checks nothing.

    python toy-proxy.py <port> <prefill port> <decode port>
"""

import sys
import uuid
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

PORT, PREFILL_PORT, DECODE_PORT = map(int, sys.argv[1:4])
ASK_FOR_HANDOFF = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}
engines = {}


def engine_client(port):
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=None, limits=limits)


@asynccontextmanager
async def lifespan(_app):
    async with engine_client(PREFILL_PORT) as prefill, engine_client(DECODE_PORT) as decode:
        engines.update(prefill=prefill, decode=decode)
        yield


app = FastAPI(lifespan=lifespan)


async def ask_prefill(path, body, headers):
    leg = {**body, "stream": False, "max_tokens": 1, "kv_transfer_params": ASK_FOR_HANDOFF}
    leg.pop("stream_options", None)
    if "max_completion_tokens" in leg:
        leg["max_completion_tokens"] = 1
    answer = await engines["prefill"].post(path, json=leg, headers=headers)
    answer.raise_for_status()
    return answer.json().get("kv_transfer_params")


async def decoded(path, body, headers):
    async with engines["decode"].stream("POST", path, json=body, headers=headers) as answer:
        answer.raise_for_status()
        async for piece in answer.aiter_bytes():
            yield piece


@app.post("/v1/completions")
@app.post("/v1/chat/completions")
async def complete(request: Request):
    path = request.url.path
    body = await request.json()
    headers = {"x-request-id": str(uuid.uuid4())}
    handoff = await ask_prefill(path, body, headers)
    if handoff:
        body["kv_transfer_params"] = handoff
    return StreamingResponse(decoded(path, body, headers), media_type="application/json")


uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", access_log=False)
