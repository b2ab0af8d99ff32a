package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
)

// trial is a dataset that both programs ask by the same protocol.
type trial struct {
	name     string
	endpoint string // the name of its type, which both know
	stream   bool
	base     string // path of the URL that both are given
	format   string // of the dataset, which both know under this name
	// rows of the dataset. In them {folder} is the folder in which picture.png and clip.wav lie, {image} and {audio} are these as a data URI
	// and as AIPerf writes sound.
	rows string
	// pools are the files of a dataset that is a folder.
	pools map[string]string

	untokenized   bool // AIPerf refuses a tokenizer for the protocol
	requests      int
	conversations int      // of several turns; 0 = each request is its own
	theirs        []string // arguments of AIPerf
	ours          string   // further keys of `endpoint`
	workload      string   // further keys of the workload
}

// lay writes the dataset and gives where it is.
func (t *trial) lay(folder string) (string, error) {
	data := filepath.Join(folder, "data")
	if err := os.MkdirAll(data, 0o750); err != nil {
		return "", err
	}
	picture, clip := picture(), clip()
	fill := strings.NewReplacer(
		"{folder}", data, "{image}", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(picture),
		"{audio}", "wav,"+base64.StdEncoding.EncodeToString(clip),
	)
	files := map[string]string{"picture.png": string(picture), "clip.wav": string(clip)}
	at := filepath.Join(data, "rows.jsonl")
	if t.format == "inputs_json" {
		at = filepath.Join(data, "inputs.json")
	}
	if t.pools == nil {
		files[filepath.Base(at)] = fill.Replace(t.rows)
	} else {
		at = filepath.Join(data, "pools")
		if err := os.Mkdir(at, 0o750); err != nil {
			return "", err
		}
	}
	for name, rows := range t.pools {
		files["pools/"+name] = fill.Replace(rows)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return at, nil
}

func picture() []byte {
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// clip is a tenth of a second of silence: 16 bits, one channel, 16 kHz.
func clip() []byte {
	const rate, size = 16000, 16000 / 10 * 2
	out := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+size)...)
	out = append(out, "WAVEfmt "...)
	for _, field := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate * 2), uint16(2), uint16(16)} {
		out, _ = binary.Append(out, binary.LittleEndian, field) // these have sizes
	}
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, size)
	return append(out, make([]byte, size)...)
}

// single is the format of most datasets.
const single = "single_turn"

// Rows that several protocols are asked.
const (
	plainRows = `{"text":"Name three rivers, e.g. the \"Öresund\" <no river>.","output_length":24,"extra":{"temperature":0,"stop":["\n"]}}
{"text":"What is 2+2?","output_length":8}
`
	mediaRows = `{"texts":["What is this?","And that?"],"images":["{image}","{folder}/picture.png"],"output_length":8}
{"image":"https://example.com/cat.png","output_length":8}
`
	soundRows = `{"text":"Who speaks?","audio":"{audio}","output_length":8}
{"text":"Who speaks?","audio":"{folder}/clip.wav","output_length":8}
{"text":"What moves?","videos":["https://example.com/clip.webm","data:video/mp4;base64,AAAA"],"output_length":8}
`
	turnRows = `{"session_id":"a1","turns":[{"role":"system","text":"Be short."},{"text":"Hi","output_length":8},{"text":"And why?","output_length":9}]}
{"session_id":"a2","turns":[{"text":"Good morning","output_length":8},{"text":"Bye","output_length":9,"extra":{"temperature":0.5}}]}
`
	rankingRows = `{"texts":[{"name":"query","contents":["What is a pump?"]},{"name":"passages","contents":["It moves fluids.","It is a bird."]}]}
{"texts":[{"name":"query","contents":["Where is Oslo?"]},{"name":"passages","contents":["In Norway."]}],"extra":{"top_n":1}}
`
	batchRows = `{"texts":["first","second"]}
{"text":"third","extra":{"dimensions":2}}
`
	toolRows = `{"messages":[{"role":"system","content":"Be short."},{"role":"user","content":[{"type":"text","text":"Weather?"}]}],` +
		`"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}],"output_length":8}
{"text_input":"What is 2+2?","output_length":9}
`
	payloadRows = `{"messages":[{"role":"user","content":"ping"}],"model":"other","max_tokens":4,  "stream":false}
`
	payloadDocument = `{"data":[{"session_id":"i1","payloads":[{"prompt":"one","model":"m","max_tokens":3},` +
		`{"prompt":"one, two","model":"m","max_tokens":3}]}]}`
)

// trials are all, by protocol.
var trials = []trial{
	{name: "chat, streamed", endpoint: "chat", stream: true, format: single, rows: plainRows, requests: 2},
	{name: "chat, whole", endpoint: "chat", format: single, rows: plainRows, requests: 2},
	{
		name: "chat, options", endpoint: "chat", stream: true, format: single, rows: plainRows, requests: 2, base: "/v1",
		theirs: []string{
			"--use-legacy-max-tokens", "--per-chunk-usage", "--extra-inputs=min_tokens:4", "--extra-inputs=ignore_eos:true", "--api-key=secret",
			"--header=X-Team:sre", "--session-header=X-Sess", "--system-prompt=Answer in one word.",
		},
		ours: `, max_tokens_field: max_tokens, continuous_usage: true, extra: {min_tokens: 4, ignore_eos: true}, ` +
			`headers: {X-Team: sre, Authorization: "Bearer secret"}, session_header: X-Sess, affinity_headers: [X-Session-Affinity]`,
		workload: `system_prompt: Answer in one word., `,
	},
	{name: "chat, images", endpoint: "chat", stream: true, format: single, rows: mediaRows, requests: 2},
	{name: "chat, sound and video", endpoint: "chat", stream: true, format: single, rows: soundRows, requests: 3},
	{name: "chat, conversations", endpoint: "chat", stream: true, format: "multi_turn", rows: turnRows, requests: 4, conversations: 2},
	{name: "chat, recorded messages", endpoint: "chat", stream: true, format: "mooncake_trace", rows: toolRows, requests: 2, conversations: 2},
	{name: "chat, recorded bodies", endpoint: "chat", format: "raw_payload", rows: payloadRows, requests: 1},
	{name: "completions, streamed", endpoint: "completions", stream: true, format: single, rows: plainRows, requests: 2},
	{
		name: "completions, whole", endpoint: "completions", format: single, requests: 3,
		rows: plainRows + `{"texts":["first","second"],"output_length":4}` + "\n",
	},
	{
		name: "completions, recorded bodies", endpoint: "completions", format: "inputs_json", rows: payloadDocument, requests: 2,
		conversations: 1,
	},
	{name: "responses, streamed", endpoint: "responses", stream: true, format: single, rows: plainRows, requests: 2},
	{name: "responses, images", endpoint: "responses", format: single, rows: mediaRows, requests: 2},
	{name: "responses, conversations", endpoint: "responses", stream: true, format: "multi_turn", rows: turnRows, requests: 4, conversations: 2},
	{name: "messages, streamed", endpoint: "messages", stream: true, format: single, rows: plainRows, requests: 2},
	{
		name: "messages, images", endpoint: "messages", format: single, rows: mediaRows, requests: 2,
		theirs: []string{"--api-key=secret"}, ours: `, headers: {X-Api-Key: secret}`,
	},
	{name: "messages, conversations", endpoint: "messages", stream: true, format: "multi_turn", rows: turnRows, requests: 4, conversations: 2},
	{
		name: "embeddings", endpoint: "embeddings", format: single, rows: batchRows, requests: 2,
		theirs: []string{"--extra-inputs=encoding_format:float"}, ours: `, extra: {encoding_format: float}`,
	},
	{
		name: "nim_embeddings", endpoint: "nim_embeddings", format: single, requests: 2,
		rows: `{"texts":["a","b"],"images":["{image}","{folder}/picture.png"]}` + "\n" + `{"image":"{image}"}` + "\n",
	},
	{
		name: "chat_embeddings", endpoint: "chat_embeddings", format: single, requests: 3,
		rows: `{"text":"a","image":"{image}"}` + "\n" + batchRows,
	},
	{name: "nim_rankings", endpoint: "nim_rankings", format: single, rows: rankingRows, requests: 2},
	{name: "cohere_rankings", endpoint: "cohere_rankings", format: single, rows: rankingRows, requests: 2},
	{
		name: "hf_tei_rankings, pools", endpoint: "hf_tei_rankings", format: "random_pool", requests: 1, conversations: 1,
		pools: map[string]string{
			"queries.jsonl":  `{"texts":[{"name":"query","contents":["What is a pump?"]}]}` + "\n",
			"passages.jsonl": `{"texts":[{"name":"passages","contents":["It moves fluids.","It is a bird."]}]}` + "\n",
		},
	},
	{
		name: "huggingface_generate, streamed", endpoint: "huggingface_generate", stream: true, format: single, rows: plainRows, requests: 2,
		theirs: []string{"--extra-inputs=top_p:0.5"}, ours: `, extra: {top_p: 0.5}`,
	},
	{name: "huggingface_generate, whole", endpoint: "huggingface_generate", format: single, rows: plainRows, requests: 2},
	{
		name: "image_generation, streamed", endpoint: "image_generation", stream: true, format: single, rows: `{"text":"a cat"}` + "\n", requests: 1,
		theirs: []string{"--extra-inputs=size:512x512"}, ours: `, extra: {size: 512x512}`,
	},
	{
		name: "image_generation, whole", endpoint: "image_generation", format: single, rows: `{"text":"a cat","extra":{"n":2}}` + "\n",
		requests: 1,
	},
	{
		name: "image_edit", endpoint: "image_edit", format: single, requests: 3,
		rows: `{"text":"blue","image":"{image}"}` + "\n" + `{"text":"blue","image":"{folder}/picture.png","extra":{"size":"512x512","seed":7}}` + "\n" +
			`{"text":"blue","image":"https://example.com/cat.png"}` + "\n",
	},
	{
		name: "image_retrieval", endpoint: "image_retrieval", untokenized: true, format: single, requests: 1,
		rows: `{"images":["{image}","{folder}/picture.png"]}` + "\n",
	},
	{
		name: "audio_transcription", endpoint: "audio_transcription", untokenized: true, format: single, requests: 2,
		rows:   `{"audio":"{audio}"}` + "\n" + `{"audio":"{folder}/clip.wav"}` + "\n",
		theirs: []string{"--extra-inputs=language:en", "--extra-inputs=temperature:0.5"}, ours: `, extra: {language: en, temperature: 0.5}`,
	},
	{name: "solido_rag, streamed", endpoint: "solido_rag", stream: true, format: single, rows: batchRows, requests: 2},
	{
		name: "template", endpoint: "template", base: "/custom", format: single, rows: plainRows, requests: 2,
		theirs: []string{`--extra-inputs={"payload_template":"{\"q\": {{ text|tojson }}, \"n\": {{ max_tokens }}, \"m\": \"{{ model }}\"}","k":1}`},
		ours:   `, template: '{"q": {{toJson .text}}, "n": {{.max_tokens}}, "m": "{{.model}}"}', extra: {k: 1}`,
	},
	{name: "raw", endpoint: "raw", base: "/custom", format: "raw_payload", rows: payloadRows, requests: 1},
}
