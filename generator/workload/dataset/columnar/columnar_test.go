package columnar

import (
	"bytes"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// sample is a row with every kind of column that is read.
type sample struct {
	ID     int64    `parquet:"id"`
	Small  *int32   `parquet:"small,optional"`
	Big    uint64   `parquet:"big"`
	Ratio  *float64 `parquet:"ratio,optional"`
	Name   *string  `parquet:"name,optional,dict"`
	Text   string   `parquet:"text"`
	Hashes []int64  `parquet:"hashes,list"`
	Pair   struct {
		A int64 `parquet:"a"`
		B int64 `parquet:"b"`
	} `parquet:"pair"`
	Nested [][]int64 `parquet:"nested,list"`
}

func samples(n int) []sample {
	random := mathrand.New(mathrand.NewPCG(1, 2))
	out := make([]sample, n)
	for i := range out {
		r := &out[i]
		r.ID, r.Big = int64(i)-3, 1<<63+uint64(i)
		if i%3 != 0 {
			small, ratio, name := int32(-i), float64(i), fmt.Sprintf("session-%d", i%7)
			r.Small, r.Ratio, r.Name = &small, &ratio, &name
		}
		r.Text = strings.Repeat(fmt.Sprintf("text %d. ", i), random.IntN(20))
		for range random.IntN(40) {
			r.Hashes = append(r.Hashes, random.Int64())
		}
	}
	return out
}

// written is a Parquet file of these rows, perGroup in each row group.
func written[T any](tb testing.TB, rows []T, perGroup int, options ...parquet.WriterOption) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	for len(rows) > 0 {
		n := min(perGroup, len(rows))
		if _, err := w.Write(rows[:n]); err != nil {
			tb.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		rows = rows[n:]
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func open(tb testing.TB, data []byte) *File {
	tb.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func column(tb testing.TB, f *File, name string) *Column {
	tb.Helper()
	c, err := f.Column(name)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// read is what the columns say about a row.
func read(tb testing.TB, row int64, columns map[string]*Column) sample {
	tb.Helper()
	check := func(err error) {
		if err != nil {
			tb.Fatalf("row %d: %v", row, err)
		}
	}
	var out sample
	var err error
	out.ID, _, err = columns["id"].Int(row)
	check(err)
	small, ok, err := columns["small"].Int(row)
	check(err)
	if ok {
		n := int32(small)
		out.Small = &n
	}
	ratio, ok, err := columns["ratio"].Int(row)
	check(err)
	if ok {
		n := float64(ratio)
		out.Ratio = &n
	}
	big, _, err := columns["big"].Text(row)
	check(err)
	_, err = fmt.Sscan(big, &out.Big)
	check(err)
	name, ok, err := columns["name"].Text(row)
	check(err)
	if ok {
		out.Name = &name
	}
	out.Text, _, err = columns["text"].Text(row)
	check(err)
	hashes, err := columns["hashes"].Ints(row, nil)
	check(err)
	for _, h := range hashes {
		out.Hashes = append(out.Hashes, int64(h))
	}
	return out
}

func TestRowsAreThoseThatWereWrittenInAnyOrder(t *testing.T) {
	t.Parallel()
	rows := samples(500)
	codecs := map[string]compress.Codec{"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "zstd": &parquet.Zstd, "gzip": &parquet.Gzip, "brotli": &parquet.Brotli}
	for codec, compression := range codecs {
		for version := 1; version <= 2; version++ {
			for _, perGroup := range []int{7, 500} {
				t.Run(fmt.Sprintf("%s, pages of version %d, %d rows in a group", codec, version, perGroup), func(t *testing.T) {
					t.Parallel()
					data := written(t, rows, perGroup, parquet.Compression(compression), parquet.DataPageVersion(version), parquet.PageBufferSize(512))
					checkOrders(t, open(t, data), rows)
				})
			}
		}
	}
}

func checkOrders(t *testing.T, f *File, rows []sample) {
	t.Helper()
	if f.Rows() != int64(len(rows)) {
		t.Fatalf("got %d rows, want %d", f.Rows(), len(rows))
	}
	columns := map[string]*Column{}
	for _, name := range []string{"id", "small", "ratio", "big", "name", "text", "hashes"} {
		columns[name] = column(t, f, name)
	}
	check := func(row int64) {
		if diff := cmp.Diff(rows[row], read(t, row, columns)); diff != "" {
			t.Fatalf("row %d (-want +got):\n%s", row, diff)
		}
	}
	for row := range rows {
		check(int64(row))
	}
	random := mathrand.New(mathrand.NewPCG(3, 4))
	for range 200 {
		check(random.Int64N(f.Rows()))
	}
	for row := len(rows) - 1; row >= 0; row -= 9 {
		check(int64(row))
		check(int64(row))
	}
}

func TestForeignFilesAreRead(t *testing.T) {
	t.Parallel()
	// Written by pyarrow: see testdata/write.py.
	for _, name := range []string{"testdata/lists-across-pages.parquet", "testdata/pandas.parquet"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f := open(t, data)
			id, text, hashes := column(t, f, "id"), column(t, f, "text"), column(t, f, "hashes")
			for _, row := range []int64{0, 1, 2, 150, 299, 7, 8, 298} {
				n, _, err1 := id.Int(row)
				said, _, err2 := text.Text(row)
				got, err3 := hashes.Ints(row, nil)
				if err = errors.Join(err1, err2, err3); err != nil {
					t.Fatalf("row %d: %v", row, err)
				}
				var want []uint64
				for i := range row % 50 {
					want = append(want, uint64(row*1000+i))
				}
				if n != row || said != fmt.Sprintf("text %d é", row) || !cmp.Equal(want, got) {
					t.Errorf("row %d: got %d, %q, %v, want %v", row, n, said, got, want)
				}
			}
		})
	}
}

func TestValuesOfTheWrongKindAreErrors(t *testing.T) {
	t.Parallel()
	half, huge := 0.5, 1e300
	rows := []sample{{ID: 1, Ratio: &half, Hashes: []int64{4, -1}}, {Ratio: &huge, Hashes: []int64{9}}}
	f := open(t, written(t, rows, 2))
	for name, read := range map[string]func() error{
		"half a number":           func() error { _, _, err := column(t, f, "ratio").Int(0); return err },
		"a number without end":    func() error { _, _, err := column(t, f, "ratio").Int(1); return err },
		"a number beyond 63 bits": func() error { _, _, err := column(t, open(t, written(t, samples(1), 1)), "big").Int(0); return err },
		"a text as a number":      func() error { _, _, err := column(t, f, "text").Int(0); return err },
		"a list as a number":      func() error { _, _, err := column(t, f, "hashes").Int(0); return err },
		"a negative hash":         func() error { _, err := column(t, f, "hashes").Ints(0, nil); return err },
		"a row behind the last":   func() error { _, _, err := column(t, f, "id").Int(2); return err },
		"a row before the first":  func() error { _, _, err := column(t, f, "id").Int(-1); return err },
		"no such column":          func() error { _, err := f.Column("x"); return err },
		"a structure":             func() error { _, err := f.Column("pair"); return err },
		"a list of lists":         func() error { _, err := f.Column("nested"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := read(); err == nil {
				t.Error("got no error")
			}
		})
	}
	hashes := column(t, f, "hashes")
	if _, err := hashes.Ints(0, nil); err == nil {
		t.Fatal("a negative hash was read")
	}
	if got, err := hashes.Ints(1, nil); err != nil || !cmp.Equal(got, []uint64{9}) {
		t.Errorf("after an error the next row is %v, %v", got, err)
	}
}

// The library keeps the buffer that it took for a page of so many bytes, even if the codec gave the page in another one.
func TestPagesAreReadWhateverTheirSize(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64 `parquet:"n,plain"`
	}
	rows := make([]row, 512) // 4096 bytes, a size that the library's pool has
	for i := range rows {
		rows[i].N = int64(i)
	}
	for _, codec := range []compress.Codec{&parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Snappy} {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			c := column(t, open(t, written(t, rows, len(rows), parquet.Compression(codec), parquet.DataPageVersion(1))), "n")
			for i := range rows {
				if n, _, err := c.Int(int64(i)); err != nil || n != int64(i) {
					t.Fatalf("row %d is %d, %v", i, n, err)
				}
			}
		})
	}
}

func TestCodecsThatAreReadWronglyAreRefused(t *testing.T) {
	t.Parallel()
	c := column(t, open(t, written(t, samples(9), 9, parquet.Compression(&parquet.Lz4Raw))), "id")
	if _, _, err := c.Int(0); err == nil || !strings.Contains(err.Error(), "LZ4_RAW") {
		t.Errorf("got %v, want an error that names LZ4_RAW", err)
	}
}

func TestDamagedFilesAreErrors(t *testing.T) {
	t.Parallel()
	good := written(t, samples(100), 50, parquet.PageBufferSize(512))
	footer := len(good) - 8
	for name, data := range map[string][]byte{
		"empty":                      {},
		"too short":                  []byte("PAR1PAR1"),
		"of another format":          append([]byte("ARROW1"), good[6:]...),
		"cut off":                    good[:len(good)/2],
		"with a footer of no length": append(append([]byte{}, good[:footer]...), 0, 0, 0, 0, 'P', 'A', 'R', '1'),
		"with a footer of 4 GB":      append(append([]byte{}, good[:footer]...), 0xff, 0xff, 0xff, 0xff, 'P', 'A', 'R', '1'),
		"with a list of 2^31 groups": append([]byte("PAR1\x15\x04\x19\xfc\xff\xff\xff\xff\x07\x00"), 10, 0, 0, 0, 'P', 'A', 'R', '1'),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Open(bytes.NewReader(data), int64(len(data))); !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
		})
	}
}
