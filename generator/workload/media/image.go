package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
)

// jpegQuality is that of pictures of the web: small enough to be usual, good enough to keep the noise.
const jpegQuality = 90

// noise is an encoded picture of random pixels.
func (i *Images) noise(random *rand.Rand) ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, i.Width, i.Height))
	for at := 0; at < len(picture.Pix); at += 4 {
		binary.LittleEndian.PutUint32(picture.Pix[at:], random.Uint32()|0xff<<24) // not transparent
	}
	var out bytes.Buffer
	var err error
	if i.Format == JPEG {
		err = jpeg.Encode(&out, picture, &jpeg.Options{Quality: jpegQuality})
	} else {
		// Noise does not become smaller, whatever the effort.
		err = (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&out, picture)
	}
	return out.Bytes(), err
}
