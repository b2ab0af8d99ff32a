package answer

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// baseline is what is known of the answers to one question.
type baseline struct {
	sketch  sketch // of the first answer
	answers int    // learned from
	agreed  float64
	// measured: the log-probabilities of all answers could be compared, and differed by at most noise, in nats and for many positions.
	measured bool
	noise    float64
	deviates bool // the last answer has another text
}

func (b *baseline) start(s *sketch) {
	*b = baseline{sketch: *s, answers: 1, agreed: 1, measured: len(s.tokens) > 0}
}

func (b *baseline) learn(c comparison) {
	b.answers++
	b.agreed = min(b.agreed, c.share)
	if c.positions == 0 {
		b.measured = false
		return
	}
	b.noise = max(b.noise, c.distance/spread(c.positions))
}

const (
	baselineVersion  = 1
	maxBaselineBytes = 64 << 20
)

// baselineFile is the form of the file: hashes and numbers, no text.
type baselineFile struct {
	Version   int                       `json:"version"`
	Questions map[string]questionRecord `json:"questions"`
}

type questionRecord struct {
	Answers  int           `json:"answers"`
	Agreed   float64       `json:"agreed"`
	Measured bool          `json:"measured"`
	Noise    float64       `json:"noise"`
	Text     string        `json:"text"` // base64 of 16 bits for each character, little endian
	Tokens   []tokenRecord `json:"tokens,omitempty"`
}

type tokenRecord struct {
	Token  uint32      `json:"token"`
	Ranked int         `json:"ranked"`
	Tops   []topRecord `json:"tops"`
}

type topRecord struct {
	Token   uint32  `json:"token"`
	Logprob float64 `json:"logprob"`
}

// load reads the baselines of the questions from the file, if there is one.
func (f *Fingerprint) load() error {
	path := f.config.BaselineFile
	raw, err := readFile(path, maxBaselineBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	known, err := decodeBaselines(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, key := range f.keys {
		if b, ok := known[key]; ok && b.answers >= f.config.Answers {
			f.baselines[i] = b
		}
	}
	return nil
}

func decodeBaselines(raw []byte) (map[string]baseline, error) {
	var version struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(raw, &version) != nil || version.Version != baselineVersion {
		return nil, errOtherBaseline
	}
	var file baselineFile
	if err := strictly(raw, &file); err != nil {
		return nil, err
	}
	if len(file.Questions) > maxQuestions {
		return nil, fmt.Errorf("has more than %d questions", maxQuestions)
	}
	out := make(map[string]baseline, len(file.Questions))
	for key, record := range file.Questions {
		b, err := record.baseline()
		if err != nil {
			return nil, fmt.Errorf("question %q: %w", cut(key, maxQuoted), err)
		}
		out[key] = b
	}
	return out, nil
}

func (r *questionRecord) baseline() (baseline, error) {
	text, err := base64.StdEncoding.DecodeString(r.Text)
	switch {
	case err != nil:
		return baseline{}, fmt.Errorf("text: %w", err)
	case len(text) == 0 || len(text)%2 != 0 || len(text)/2 > maxSketchRunes:
		return baseline{}, fmt.Errorf("text has %d bytes, which is no sketch", len(text))
	case len(r.Tokens) > maxSketchTokens || (r.Measured && len(r.Tokens) == 0):
		return baseline{}, fmt.Errorf("has %d tokens, which cannot be right", len(r.Tokens))
	case !r.plausible():
		return baseline{}, errors.New("answers, agreed or noise cannot be right")
	}
	b := baseline{answers: r.Answers, agreed: r.Agreed, measured: r.Measured, noise: r.Noise}
	for ; len(text) > 0; text = text[2:] {
		b.sketch.text = append(b.sketch.text, binary.LittleEndian.Uint16(text))
	}
	for i := range r.Tokens {
		t, err := r.Tokens[i].sketch()
		if err != nil {
			return baseline{}, err
		}
		b.sketch.tokens = append(b.sketch.tokens, t)
	}
	b.sketch.grain = grainOf(b.sketch.tokens)
	return b, nil
}

func (r *questionRecord) plausible() bool {
	return r.Answers >= 1 && r.Answers <= maxLearned && r.Agreed >= 0 && r.Agreed <= 1 && r.Noise >= 0
}

func (r *tokenRecord) sketch() (tokenSketch, error) {
	t := tokenSketch{token: r.Token}
	if len(r.Tops) > maxSketchTops+1 { // the token itself may not be among the likeliest
		return t, fmt.Errorf("a token has %d alternatives, which cannot be right", len(r.Tops))
	}
	for _, top := range r.Tops {
		t.add(top.Token, top.Logprob)
	}
	if r.Ranked < 0 || r.Ranked > len(t.tops) {
		return t, fmt.Errorf("%d of the %d alternatives of a token are ranked, which cannot be right", r.Ranked, len(t.tops))
	}
	t.ranked = r.Ranked
	return t, nil
}

func (b *baseline) record() questionRecord {
	text := make([]byte, 0, 2*len(b.sketch.text))
	for _, h := range b.sketch.text {
		text = binary.LittleEndian.AppendUint16(text, h)
	}
	r := questionRecord{
		Answers: b.answers, Agreed: b.agreed, Measured: b.measured, Noise: b.noise, Text: base64.StdEncoding.EncodeToString(text),
	}
	for _, token := range b.sketch.tokens {
		t := tokenRecord{Token: token.token, Ranked: token.ranked, Tops: make([]topRecord, 0, len(token.tops))}
		for _, top := range token.tops {
			t.Tops = append(t.Tops, topRecord{top.token, round(top.logprob)})
		}
		r.Tokens = append(r.Tokens, t)
	}
	return r
}

// round keeps a millionth of a nat.
func round(logprob float64) float64 { return math.Round(logprob*1e6) / 1e6 }

// save writes the baselines if something is not yet in the file.
func (f *Fingerprint) save() error {
	if !f.unsaved {
		return nil
	}
	file := baselineFile{Version: baselineVersion, Questions: make(map[string]questionRecord, len(f.keys))}
	for i, key := range f.keys {
		file.Questions[key] = f.baselines[i].record()
	}
	raw, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	if err := replaceFile(f.config.BaselineFile, append(raw, '\n')); err != nil {
		return fmt.Errorf("fingerprint: write baseline: %w", err)
	}
	f.unsaved = false
	return nil
}

// Dismissed tells that the file of a baseline that was in it has been removed: what is usual is to be learned anew.
func (f *Fingerprint) Dismissed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config.BaselineFile == "" || f.unsaved || !f.learned() {
		return false
	}
	_, err := os.Stat(f.config.BaselineFile)
	return errors.Is(err, fs.ErrNotExist)
}

// replaceFile puts a whole file in place of another, or leaves that as it was.
func replaceFile(path string, content []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the error is told already
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
