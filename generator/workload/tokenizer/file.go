package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/pkoukk/tiktoken-go"
)

// maxFile bounds the file, in bytes; those of today's models have up to 35 MB.
const maxFile = 256 << 20

// matchTime bounds the search for one piece, should a pattern of a file be a bad one.
const matchTime = 5 * time.Second

// gpt2Split is how a ByteLevel pre-tokenizer splits that has no pattern of its own: the one of GPT-2.
const gpt2Split = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// file is the part of a tokenizer.json that matters for counts.
type file struct {
	Normalizer   *normalizer   `json:"normalizer"`
	PreTokenizer *preTokenizer `json:"pre_tokenizer"`
	Model        model         `json:"model"`
}

type normalizer struct {
	Type        string       `json:"type"`
	Normalizers []normalizer `json:"normalizers"`
}

type preTokenizer struct {
	Type           string         `json:"type"`
	Pretokenizers  []preTokenizer `json:"pretokenizers"`
	Behavior       string         `json:"behavior"`
	Invert         bool           `json:"invert"`
	AddPrefixSpace bool           `json:"add_prefix_space"`
	UseRegex       *bool          `json:"use_regex"`
	Pattern        struct {
		Regex  *string `json:"Regex"`
		String *string `json:"String"`
	} `json:"pattern"`
}

type model struct {
	Type                    string          `json:"type"`
	Dropout                 *float64        `json:"dropout"`
	ContinuingSubwordPrefix string          `json:"continuing_subword_prefix"`
	EndOfWordSuffix         string          `json:"end_of_word_suffix"`
	ByteFallback            bool            `json:"byte_fallback"`
	IgnoreMerges            bool            `json:"ignore_merges"`
	Vocab                   json.RawMessage `json:"vocab"`
	Merges                  json.RawMessage `json:"merges"`
}

// Load reads a tokenizer.json. An error says what is not supported.
func Load(path string) (*Tokenizer, error) {
	t, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	return t, nil
}

func load(path string) (*Tokenizer, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return parse(data)
}

func parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("is not a tokenizer.json: %w", err)
	}
	t := &Tokenizer{known: map[string]int{}}
	if err := t.normalize(f.Normalizer); err != nil {
		return nil, err
	}
	if f.PreTokenizer == nil {
		return nil, errors.New("has no pre_tokenizer, only byte-level BPE is supported")
	}
	bytes, err := t.split(f.PreTokenizer)
	if err != nil {
		return nil, err
	}
	if !bytes {
		return nil, errors.New("has no ByteLevel pre_tokenizer, only byte-level BPE is supported")
	}
	ranks, err := f.Model.ranks()
	if err != nil {
		return nil, err
	}
	if t.whole, err = f.Model.unmerged(ranks); err != nil {
		return nil, err
	}
	core, err := tiktoken.NewCoreBPE(ranks, nil, `[\s\S]+`) // pieces come split
	if err != nil {
		return nil, fmt.Errorf("byte pairs: %w", err)
	}
	t.bytePairs = tiktoken.NewTiktoken(core, &tiktoken.Encoding{}, nil)
	return t, nil
}

// normalize takes in what is done to a text first.
func (t *Tokenizer) normalize(n *normalizer) error {
	switch {
	case n == nil:
	case n.Type == "NFC":
		t.nfc = true
	case n.Type == "Sequence":
		for i := range n.Normalizers {
			if err := t.normalize(&n.Normalizers[i]); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("normalizer %q is not supported, only NFC is", n.Type)
	}
	return nil
}

// split takes in how a text is cut into pieces; bytes tells whether their bytes are then written as letters, which has to come last.
func (t *Tokenizer) split(p *preTokenizer) (bytes bool, err error) {
	switch p.Type {
	case "Sequence":
		for i := range p.Pretokenizers {
			if bytes {
				return false, fmt.Errorf("pre_tokenizer %q behind ByteLevel is not supported", p.Pretokenizers[i].Type)
			}
			if bytes, err = t.split(&p.Pretokenizers[i]); err != nil {
				return false, err
			}
		}
		return bytes, nil
	case "ByteLevel":
		if p.AddPrefixSpace {
			return false, errors.New("pre_tokenizer ByteLevel with add_prefix_space is not supported")
		}
		if p.UseRegex == nil || *p.UseRegex {
			return true, t.splitBy(gpt2Split)
		}
		return true, nil
	case "Split":
		switch {
		case p.Behavior != "Isolated" || p.Invert:
			return false, fmt.Errorf("pre_tokenizer Split with behavior %q is not supported, only Isolated is", p.Behavior)
		case p.Pattern.Regex != nil:
			return false, t.splitBy(*p.Pattern.Regex)
		case p.Pattern.String != nil:
			return false, t.splitBy(regexp2.Escape(*p.Pattern.String))
		}
		return false, errors.New("pre_tokenizer Split has no pattern")
	}
	return false, fmt.Errorf("pre_tokenizer %q is not supported", p.Type)
}

func (t *Tokenizer) splitBy(pattern string) error {
	compiled, err := regexp2.Compile(pattern, regexp2.None)
	if err != nil {
		return fmt.Errorf("pre_tokenizer: %w", err)
	}
	compiled.MatchTimeout = matchTime
	t.splits = append(t.splits, compiled)
	return nil
}

// ranks gives the byte strings that are tokens, in the order in which they are merged.
func (m *model) ranks() (map[string]int, error) {
	switch {
	case m.Type != "BPE":
		return nil, fmt.Errorf("model %q is not supported, only BPE is", m.Type)
	case m.ByteFallback:
		return nil, errors.New("a model with byte_fallback is not supported, only byte-level BPE is")
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, errors.New("a model with dropout is not supported")
	case m.ContinuingSubwordPrefix != "" || m.EndOfWordSuffix != "":
		return nil, errors.New("a model with continuing_subword_prefix or end_of_word_suffix is not supported")
	}
	letters := letterBytes()
	ranks := make(map[string]int, 256+len(m.Merges)/32)
	for b := range 256 {
		ranks[string([]byte{byte(b)})] = b
	}
	err := eachMerge(m.Merges, func(merged string) error {
		token, ok := letters.decode(merged)
		if !ok {
			return fmt.Errorf("merge %q is not of byte-level BPE", merged)
		}
		if _, known := ranks[string(token)]; !known { // the first merge that makes a token decides
			ranks[string(token)] = len(ranks)
		}
		return nil
	})
	return ranks, err
}

// unmerged are the tokens that no merge makes, but which a whole piece may be where the model looks that up first.
func (m *model) unmerged(ranks map[string]int) (map[string]bool, error) {
	if !m.IgnoreMerges {
		return nil, nil
	}
	var vocabulary map[string]int
	if err := json.Unmarshal(m.Vocab, &vocabulary); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	letters := letterBytes()
	out := map[string]bool{}
	for text := range vocabulary {
		if token, ok := letters.decode(text); ok {
			if _, merged := ranks[string(token)]; !merged {
				out[string(token)] = true
			}
		}
	}
	return out, nil
}

// alphabet tells which byte each letter of byte-level BPE stands for.
type alphabet map[rune]byte

// letterBytes is GPT-2's alphabet: printable bytes of Latin-1 stand for themselves, all others for the letters from U+0100 on.
func letterBytes() alphabet {
	out := make(alphabet, 256)
	other := rune(0x100)
	for b := range rune(256) {
		if (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae {
			out[b] = byte(b)
			continue
		}
		out[other] = byte(b)
		other++
	}
	return out
}

func (a alphabet) decode(text string) (out []byte, ok bool) {
	out = make([]byte, 0, len(text))
	for _, letter := range text {
		b, known := a[letter]
		if !known {
			return nil, false
		}
		out = append(out, b)
	}
	return out, true
}
