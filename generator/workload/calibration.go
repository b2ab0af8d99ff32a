package workload

// calibration learns how many tokens a server counts for a prompt of so many bytes: tokens = overhead + perByte*bytes. The overhead is the
// chat template and what the nonce costs beyond its bytes; perByte belongs to the tokenizer and the corpus.
//
// It is a least-squares fit with two safeguards. The prior acts like one more observation that never ages, so that prompts of a single
// length, which cannot tell overhead from slope, still give a fit that is right at that length. And an observation that is far off what
// the fit says counts less, so that a single odd answer moves nothing, while a new tokenizer behind the same name is learned in a few
// dozen answers. As it fits what was sent and what was counted, not the difference to the wish, requests in flight cannot make it swing.
type calibration struct {
	overhead, perByte float64
	prior             float64 // perByte before anything is learned

	// Weighted sums over the observations, older ones faded.
	w, x, y, xx, xy float64
	seen            int
	scale           float64 // usual size of a residual, in multiples of what noise explains
}

const (
	// The prior: a short chat template and the nonce, the corpus's own tokens for a byte; and how much others differ.
	priorOverhead, overheadSpread = 12.0, 16.0
	perByteSpread                 = 0.1

	// Bounds of what is believed. A tokenizer has at most a token for each byte and hardly less than one for each word.
	maxOverhead            = 8192.0
	minPerByte, maxPerByte = 1.0 / 16, 1.25

	// A token count scatters by a token and by a percent.
	noiseTokens, noiseShare = 1.0, 0.01

	fade        = 0.98 // the last 50 observations count
	outlier     = 4.0  // residuals beyond this multiple of the usual one count less
	trustedFrom = 4    // observations before residuals are judged
)

func newCalibration(perByte float64) calibration {
	return calibration{overhead: priorOverhead, perByte: perByte, prior: perByte, scale: 1}
}

// tokens is the expected count for a prompt of so many bytes.
func (c *calibration) tokens(bytes int) float64 { return c.overhead + c.perByte*float64(bytes) }

// observe learns that a prompt of so many bytes was counted as so many tokens. Counts far below one for each word are ignored; counts that
// are far too high weigh next to nothing by themselves.
func (c *calibration) observe(bytes int, tokens int64) {
	x, y := float64(bytes), float64(tokens)
	if bytes <= 0 || y < max(1, x*minPerByte/2) {
		return
	}
	noise := noiseTokens + noiseShare*y
	weight := 1 / (noise * noise)
	residual := max(y-c.tokens(bytes), c.tokens(bytes)-y) / noise
	if c.seen >= trustedFrom {
		limit := outlier * c.scale
		if residual > limit {
			weight *= limit / residual
			residual = limit
		}
	}
	c.seen++
	c.scale = max(1, 0.9*c.scale+0.1*residual)

	c.w = fade*c.w + weight
	c.x = fade*c.x + weight*x
	c.y = fade*c.y + weight*y
	c.xx = fade*c.xx + weight*x*x
	c.xy = fade*c.xy + weight*x*y
	c.fit()
}

// fit solves for overhead and slope, first both free, then with the one at its bound that left it.
func (c *calibration) fit() {
	const a, b = 1 / (overheadSpread * overheadSpread), 1 / (perByteSpread * perByteSpread)
	w, xx := c.w+a, c.xx+b
	y, xy := c.y+a*priorOverhead, c.xy+b*c.prior
	overhead := (y*xx - xy*c.x) / (w*xx - c.x*c.x)
	c.overhead = min(max(overhead, 0), maxOverhead)
	c.perByte = (xy - c.overhead*c.x) / xx
	if c.perByte < minPerByte || c.perByte > maxPerByte {
		c.perByte = min(max(c.perByte, minPerByte), maxPerByte)
		c.overhead = min(max((y-c.perByte*c.x)/w, 0), maxOverhead)
	}
}
