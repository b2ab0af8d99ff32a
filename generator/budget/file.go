package budget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The file is a line with its name, its version and the SHA-256 of the rest, and the rest as JSON. It is replaced as a whole, so that
// there is always a complete one on the disk.
const magic = "aiperf-exporter budget state 1 "

// errNotOurs and errDamaged say what to do: to go on with nothing used would be a silent reset.
var (
	errNotOurs = errors.New("this is no budget state file of this version: name another file, or remove this one to begin with nothing used")
	errDamaged = errors.New("the file is damaged: restore it, or remove it to begin with nothing used")
)

// fileAccount is one account as JSON.
type fileAccount struct {
	Name string      `json:"name"` // "" = all together
	Hour *fileRecord `json:"hour"`
	Day  *fileRecord `json:"day"`
}

// fileRecord is one period of an account as JSON. Amounts are in the order of Kinds, money in nanodollars.
type fileRecord struct {
	Ends   int64   `json:"ends"` // Unix seconds
	AtMost amounts `json:"at_most"`
	Next   amounts `json:"next"`
}

func encode(accounts map[string]recordedAccount) ([]byte, error) {
	list := make([]fileAccount, 0, len(accounts))
	for name, a := range accounts {
		list = append(list, fileAccount{Name: name, Hour: toFile(&a[hour]), Day: toFile(&a[day])})
	}
	body, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	sum := sha256.Sum256(body)
	return append([]byte(magic+hex.EncodeToString(sum[:])+"\n"), body...), nil
}

func toFile(r *record) *fileRecord { return &fileRecord{Ends: r.end, AtMost: r.atMost, Next: r.next} }

func decode(data []byte) (map[string]recordedAccount, error) {
	rest, ours := bytes.CutPrefix(data, []byte(magic))
	if !ours {
		return nil, errNotOurs
	}
	head, body, _ := bytes.Cut(rest, []byte("\n"))
	if sum := sha256.Sum256(body); string(head) != hex.EncodeToString(sum[:]) {
		return nil, errDamaged
	}
	var list []fileAccount
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("%w (%w)", errDamaged, err)
	}
	accounts := make(map[string]recordedAccount, len(list))
	for i := range list {
		a := &list[i]
		if a.Hour == nil || a.Day == nil {
			return nil, errDamaged
		}
		accounts[a.Name] = recordedAccount{hour: a.Hour.record(), day: a.Day.record()}
	}
	return accounts, nil
}

func (f *fileRecord) record() record {
	return record{end: f.Ends, atMost: f.AtMost.clamped(), next: f.Next.clamped()}
}

// readFile gives what is recorded; a file that is not there is empty.
func readFile(path string) (map[string]recordedAccount, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]recordedAccount{}, nil
	}
	if err != nil {
		return nil, err
	}
	return decode(data)
}

// writeFile puts a new file in the place of the old one. When it returns without an error, the new one survives a loss of power; otherwise
// one of the two does.
func writeFile(path string, accounts map[string]recordedAccount) error {
	data, err := encode(accounts)
	if err != nil {
		return err
	}
	fresh, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fresh.Write(data)
	if err == nil {
		err = fresh.Sync()
	}
	if err = errors.Join(err, fresh.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes a rename in the directory last.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
