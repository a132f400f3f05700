"""A TCP relay: a server that listens on this machine alone, at an address containers reach."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def running_relay(address: str, host: str, port: int) -> Iterator[int]:
    """Passes on what comes to `address` to a host's port; yields its own port."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()

    async def serve() -> asyncio.Server:
        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            there, back = await asyncio.open_connection(host, port)
            await asyncio.gather(_copy(reader, back), _copy(there, writer))

        return await asyncio.start_server(relay, address, 0)

    server = asyncio.run_coroutine_threadsafe(serve(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    except ConnectionError:
        pass
    finally:
        target.close()


async def _stop(server: asyncio.Server) -> None:
    server.close()
    server.close_clients()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
