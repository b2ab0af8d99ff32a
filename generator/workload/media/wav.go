package media

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

const (
	// wavHeader is the size of the header that wav writes.
	wavHeader = 44
	// loudness is the standard deviation of the noise, in shares of the full range: clipping is rare.
	loudness = 0.2
)

// samples is how many samples a made-up clip has.
func (a *Audio) samples() int { return int(math.Round(a.Seconds * float64(a.SampleRate))) }

// size is that of a made-up clip, in bytes.
func (a *Audio) size() int { return wavHeader + a.samples()*a.Bits/8 }

// noise is a clip of Gaussian noise: RIFF, one channel of PCM.
func (a *Audio) noise(random *rand.Rand) []byte {
	width := a.Bits / 8
	data := a.samples() * width
	out := make([]byte, 0, wavHeader+data+1)
	out = append(out, "RIFF"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(wavHeader-8+data+data%2))
	out = append(out, "WAVEfmt "...)
	out = binary.LittleEndian.AppendUint32(out, 16)
	out = binary.LittleEndian.AppendUint16(out, 1) // PCM
	out = binary.LittleEndian.AppendUint16(out, 1) // channels
	out = binary.LittleEndian.AppendUint32(out, uint32(a.SampleRate))
	out = binary.LittleEndian.AppendUint32(out, uint32(a.SampleRate*width))
	out = binary.LittleEndian.AppendUint16(out, uint16(width))
	out = binary.LittleEndian.AppendUint16(out, uint16(a.Bits))
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(data))
	top := math.Exp2(float64(a.Bits-1)) - 1
	var sample [8]byte
	for range a.samples() {
		value := int64(min(max(loudness*random.NormFloat64(), -1), 1) * top)
		if width == 1 {
			value += 128 // samples of 8 bits have no sign
		}
		binary.LittleEndian.PutUint64(sample[:], uint64(value))
		out = append(out, sample[:width]...)
	}
	if data%2 == 1 {
		out = append(out, 0) // chunks have an even size
	}
	return out
}

// WAVSeconds is how long a WAV file plays, 0 if data is none.
func WAVSeconds(data []byte) float64 {
	if len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE" {
		return 0
	}
	var bytesPerSecond uint32
	for rest := data[12:]; len(rest) >= 8; {
		id, size := string(rest[:4]), binary.LittleEndian.Uint32(rest[4:])
		body := rest[8:]
		switch {
		case id == "fmt " && len(body) >= 12:
			bytesPerSecond = binary.LittleEndian.Uint32(body[8:])
		case id == "data" && bytesPerSecond > 0:
			return float64(min(uint64(size), uint64(len(body)))) / float64(bytesPerSecond)
		}
		step := uint64(size) + uint64(size%2)
		if step > uint64(len(body)) {
			break
		}
		rest = body[step:]
	}
	return 0
}
