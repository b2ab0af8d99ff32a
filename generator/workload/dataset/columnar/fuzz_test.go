package columnar

import (
	"bytes"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// FuzzOpen reads every row of damaged files: errors are right, panics and endless work are not.
func FuzzOpen(f *testing.F) {
	for version := 1; version <= 2; version++ {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Zstd} {
			f.Add(written(f, samples(3), 2, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(64)))
		}
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, name := range []string{"id", "small", "ratio", "big", "name", "text", "hashes"} {
			c, err := file.Column(name)
			if err != nil {
				continue
			}
			for row := range min(file.Rows(), 20) {
				_, _, _ = c.Int(row)
				_, _, _ = c.Text(row)
				_, _ = c.Ints(row, nil)
			}
			c.Close()
		}
	})
}

// BenchmarkRows reads texts of 1 KB in the order of the file and out of it.
func BenchmarkRows(b *testing.B) {
	rows := make([]sample, 20_000)
	for i := range rows {
		rows[i].Text = strings.Repeat(fmt.Sprintf("%08d ", i), 113)
	}
	f := open(b, written(b, rows, 10_000, parquet.Compression(&parquet.Snappy), parquet.PageBufferSize(1<<20)))
	random := mathrand.New(mathrand.NewPCG(5, 6))
	for name, next := range map[string]func(i int64) int64{
		"in order":        func(i int64) int64 { return i % f.Rows() },
		"in random order": func(int64) int64 { return random.Int64N(f.Rows()) },
	} {
		b.Run(name, func(b *testing.B) {
			c := column(b, f, "text")
			b.ReportAllocs()
			b.SetBytes(1017)
			i := int64(0)
			for b.Loop() {
				if _, _, err := c.Text(next(i)); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
