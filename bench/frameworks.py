"""Hybrid retrieval by LangChain, LlamaIndex and Haystack, each as its documentation sets it up.

Each has an index of its own of the same texts and vectors, asks both channels for the same depth
and answers with texts, best first.
"""

from typing import Any

from haystack import Document as HaystackDocument
from haystack import Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.retrievers.opensearch import (
    OpenSearchBM25Retriever,
    OpenSearchEmbeddingRetriever,
)
from haystack_integrations.document_stores.opensearch import OpenSearchDocumentStore
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.vectorstores import OpenSearchVectorSearch
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.opensearch import OpensearchVectorClient, OpensearchVectorStore

from bench.contenders import BATCH, CALLERS, METHOD, TOP_K, Ask, World
from bench.corpus import make_chunks
from bench.world import SPACE


def use_langchain(world: World) -> Ask:
    """OpenSearchVectorSearch and a BM25 retriever in an EnsembleRetriever."""
    index = "langchain"

    class Given(Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [world.vectors[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return world.vectors[text]

    class BM25(BaseRetriever):  # type: ignore[misc]
        # As ElasticSearchBM25Retriever, which always takes 10 hits and wants Elastic's client.
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            body = {
                "query": {"match": {"text": query}},
                "size": world.depth,
                "_source": ["text"],
            }
            found = world.client.search(index=index, body=body)["hits"]["hits"]
            return [Document(page_content=hit["_source"]["text"]) for hit in found]

    store = OpenSearchVectorSearch(
        world.url, index, Given(), engine="lucene", pool_maxsize=2 * CALLERS, timeout=60
    )
    if world.lacks(index):
        texts, vectors = zip(*make_chunks(world.chunks), strict=True)
        for first in range(0, world.chunks, BATCH):
            few = slice(first, first + BATCH)
            pairs = zip(texts[few], (v.tolist() for v in vectors[few]), strict=True)
            store.add_embeddings(
                list(pairs), space_type="cosinesimil", ef_construction=100, bulk_size=BATCH
            )
        world.client.indices.refresh(index=index)
    ensemble = EnsembleRetriever(
        retrievers=[store.as_retriever(search_kwargs={"k": world.depth}), BM25()]
    )
    return lambda text: [each.page_content for each in ensemble.invoke(text)[:TOP_K]]


def use_llama_index(world: World) -> Ask:
    """OpensearchVectorStore, by vector and by text, in a QueryFusionRetriever."""
    index = "llama-index"

    class Given(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return world.vectors[text]

        def _get_query_embedding(self, query: str) -> list[float]:
            return world.vectors[query]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return world.vectors[query]

    wanting = world.lacks(index)
    client = OpensearchVectorClient(
        world.url, index, SPACE.dimension, method=METHOD, pool_maxsize=2 * CALLERS, timeout=60
    )
    store = OpensearchVectorStore(client)
    if wanting:
        nodes = []
        for text, vector in make_chunks(world.chunks):
            nodes.append(TextNode(text=text, embedding=vector.tolist()))
            if len(nodes) == BATCH:
                store.add(nodes)
                nodes = []
        if nodes:
            store.add(nodes)
    made = VectorStoreIndex.from_vector_store(store, embed_model=Given())
    modes = [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.TEXT_SEARCH]
    fusion = QueryFusionRetriever(
        [
            made.as_retriever(vector_store_query_mode=mode, similarity_top_k=world.depth)
            for mode in modes
        ],
        llm=MockLLM(),
        mode="reciprocal_rerank",
        similarity_top_k=TOP_K,
        num_queries=1,
        use_async=False,
    )
    return lambda text: [each.node.get_content() for each in fusion.retrieve(text)]


def use_haystack(world: World) -> Ask:
    """BM25 and embedding retrievers and a DocumentJoiner, fuzziness 0."""
    index = "haystack"
    wanting = world.lacks(index)
    store = OpenSearchDocumentStore(
        hosts=world.url,
        index=index,
        embedding_dim=SPACE.dimension,
        method=METHOD,
        http_auth=None,
        timeout=60,
        pool_maxsize=2 * CALLERS,
    )
    if wanting:
        documents = [
            HaystackDocument(content=text, embedding=vector.tolist())
            for text, vector in make_chunks(world.chunks)
        ]
        for first in range(0, world.chunks, BATCH):
            store.write_documents(documents[first : first + BATCH], DuplicatePolicy.OVERWRITE)
    pipeline = Pipeline()
    words = OpenSearchBM25Retriever(document_store=store, fuzziness=0, top_k=world.depth)
    nearest = OpenSearchEmbeddingRetriever(document_store=store, top_k=world.depth)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=TOP_K)
    for name, part in (("words", words), ("nearest", nearest), ("joiner", joiner)):
        pipeline.add_component(name, part)
    pipeline.connect("words", "joiner")
    pipeline.connect("nearest", "joiner")

    def ask(text: str) -> list[str]:
        asked = {"words": {"query": text}, "nearest": {"query_embedding": world.vectors[text]}}
        return [each.content for each in pipeline.run(asked)["joiner"]["documents"]]

    return ask
