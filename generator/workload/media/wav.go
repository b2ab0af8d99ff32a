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

// wavSeconds is how long a clip of a file lasts; 0 if it is no WAV file.
func wavSeconds(data []byte) float64 {
	if len(data) < wavHeader || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE" {
		return 0
	}
	var perSecond uint32
	for rest := data[12:]; len(rest) >= 8; {
		size := binary.LittleEndian.Uint32(rest[4:])
		body := rest[8:]
		switch string(rest[:4]) {
		case "fmt ":
			if len(body) >= 16 {
				perSecond = binary.LittleEndian.Uint32(body[8:])
			}
		case "data":
			if perSecond == 0 {
				return 0
			}
			return float64(min(int(size), len(body))) / float64(perSecond)
		}
		skip := int(size) + int(size)%2
		if skip > len(body) {
			return 0
		}
		rest = body[skip:]
	}
	return 0
}
