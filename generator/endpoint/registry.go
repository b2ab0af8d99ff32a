package endpoint

import (
	"errors"
	"strings"
)

// registry is the list of protocols, in the order in which errors name them.
var registry = []struct {
	name Type
	make func(*Config) Codec
}{
	{Chat, newChat},
	{Completions, newCompletions},
	{Responses, newResponses},
	{Messages, newMessages},
	{Multimodal, newChat},
	{Vision, newChat},
	{Embeddings, newEmbeddings},
	{ChatEmbeddings, newChatEmbeddings},
	{NIMEmbeddings, newNIMEmbeddings},
	{NVCLIP, newNVCLIP},
	{NIMRankings, newNIMRankings},
	{Rankings, newNIMRankings},
	{CohereRankings, newCohereRankings},
	{TEIRankings, newTEIRankings},
	{TGI, newTGI},
	{TritonGenerate, newTriton},
	{Generate, newTriton},
	{KServe, newKServe},
	{ImageGeneration, newImageGeneration},
	{ImageEdit, newImageEdit},
	{ImageRetrieval, newImageRetrieval},
	{AudioTranscription, newTranscription},
	{SolidoRAG, newSolido},
	{Raw, newRaw},
	{Template, newTemplate},
}

// New makes the codec for a configuration.
func New(cfg Config) (Codec, error) {
	if errs := cfg.Validate("endpoint"); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return constructor(cfg.Type)(&cfg), nil
}

// constructor is nil for a type that is not registered.
func constructor(name Type) func(*Config) Codec {
	for _, e := range registry {
		if e.name == name {
			return e.make
		}
	}
	return nil
}

func typeNames() string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = string(e.name)
	}
	return strings.Join(names, ", ")
}
