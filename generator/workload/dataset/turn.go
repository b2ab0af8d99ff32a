package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/aiperf-exporter/aiperf-exporter/generator/prompt"
)

// contentKinds are the kinds of content that a turn can have, in the order in which they are said, with their keys for one and for several.
var contentKinds = []struct {
	kind      prompt.Kind
	one, many string
}{
	{prompt.Text, "text", "texts"},
	{prompt.Image, "image", "images"},
	{prompt.Audio, "audio", "audios"},
	{prompt.Video, "video", "videos"},
}

// turnDecoder reads the turns of single_turn, multi_turn and random_pool.
type turnDecoder struct {
	library library
	untimed bool   // rows have neither time nor session
	name    string // of parts that have none
}

// contents are the parts of a turn as they are read, by kind.
type contents struct {
	parts [4][]prompt.Part
	given [4]bool // some key of this kind stands in the turn
	ids   [][]byte
	cost  int
}

// turn reads a turn. Keys that mean nothing here are left out, as other programs do.
func (d *turnDecoder) turn(value []byte, row *Row) (cost int, err error) {
	var c contents
	role := prompt.User
	take := func(key, value []byte) error {
		if null(value) {
			return nil
		}
		var err error
		switch string(key) {
		case "timestamp", "delay", "session_id":
			if d.untimed {
				return errors.New("has no meaning in a pool")
			}
			err = row.setTime(string(key), value)
		case "role":
			var s string
			s, err = text(value)
			role = prompt.Role(s)
		case "output_length":
			row.OutputTokens, err = length(value, 1)
		case "extra":
			row.Extra, err = anything(value)
		case "expect":
			row.Expect, err = objectOf(value)
		case "image_uuids":
			err = elements(value, func(_ int, v []byte) error {
				c.ids = append(c.ids, v)
				return nil
			})
		default:
			err = d.content(&c, string(key), value)
		}
		return err
	}
	if err := members(value, take); err != nil {
		return 0, err
	}
	if err := c.identify(); err != nil {
		return 0, err
	}
	message := prompt.Message{Role: role}
	for _, parts := range c.parts {
		message.Parts = append(message.Parts, parts...)
	}
	switch {
	case len(message.Parts) == 0:
		return 0, errors.New("has nothing to say: needs one of text, image, audio, video or their plurals")
	case row.HasAt && row.Delay > 0:
		return 0, errors.New("timestamp excludes delay")
	}
	row.Prompt.Messages = []prompt.Message{message}
	return c.cost, nil
}

// setTime reads the keys of time and session, in milliseconds.
func (r *Row) setTime(key string, value []byte) (err error) {
	switch key {
	case "timestamp":
		r.HasAt = true
		r.At, err = span(value, time.Millisecond)
	case "delay":
		r.Delay, err = span(value, time.Millisecond)
	case "session_id":
		r.Session, err = sessionName(value)
	}
	return err
}

// content reads the value of a key of content, and leaves out other keys.
func (d *turnDecoder) content(c *contents, key string, value []byte) error {
	for _, m := range contentKinds {
		if key != m.one && key != m.many {
			continue
		}
		if c.given[m.kind] {
			return fmt.Errorf("%s and %s exclude each other", m.one, m.many)
		}
		c.given[m.kind] = true
		if key == m.one {
			return d.add(c, m.kind, d.name, value)
		}
		return elements(value, func(_ int, v []byte) error {
			if err := d.item(c, m.kind, v); err != nil {
				return err
			}
			return nil
		})
	}
	return nil
}

// item reads one of several: a value, or an object of a name and values.
func (d *turnDecoder) item(c *contents, kind prompt.Kind, value []byte) error {
	if value[0] != '{' {
		return d.add(c, kind, d.name, value)
	}
	name := d.name
	var values, ids [][]byte
	collect := func(to *[][]byte) func(int, []byte) error {
		return func(_ int, v []byte) error {
			*to = append(*to, v)
			return nil
		}
	}
	err := members(value, func(key, v []byte) error {
		var err error
		switch string(key) {
		case "name":
			if name, err = text(v); name == "" {
				name = d.name
			}
		case "contents":
			err = elements(v, collect(&values))
		case "uuids":
			err = elements(v, collect(&ids))
		default:
			err = errors.New("is not known, must be name, contents or uuids")
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(values) == 0 && len(ids) > 0 {
		values = make([][]byte, len(ids))
	}
	if len(values) == 0 {
		return errors.New("contents: must hold at least one")
	}
	before := len(c.parts[kind])
	for _, v := range values {
		if err := d.add(c, kind, name, v); err != nil {
			return err
		}
	}
	return setIDs(c.parts[kind][before:], ids)
}

// add reads one value into a part; nil stands for a medium of which only the name is known.
func (d *turnDecoder) add(c *contents, kind prompt.Kind, name string, value []byte) error {
	if value == nil {
		c.parts[kind] = append(c.parts[kind], prompt.Part{Kind: kind, Name: name})
		return nil
	}
	said, err := text(value)
	if err != nil {
		return err
	}
	part := prompt.Part{Kind: kind, Text: said}
	switch {
	case kind == prompt.Text && said == "":
		return errors.New("is empty")
	case kind == prompt.Image && said == "": // the server has it under its id
		part.Text = ""
	case kind != prompt.Text:
		if part, err = d.library.part(kind, said); err != nil {
			return err
		}
	}
	part.Name = name
	if c.cost += len(part.Data); c.cost > maxRecord {
		return fmt.Errorf("the media of a turn are larger than %d MiB", maxRecord>>20)
	}
	c.parts[kind] = append(c.parts[kind], part)
	return nil
}

// identify gives the images of a turn their ids, and checks that each image is there in some way.
func (c *contents) identify() error {
	images := &c.parts[prompt.Image]
	if c.ids != nil && len(*images) == 0 {
		*images = make([]prompt.Part, len(c.ids))
		for i := range *images {
			(*images)[i].Kind = prompt.Image
		}
	}
	if err := setIDs(*images, c.ids); err != nil {
		return inKey("image_uuids", err)
	}
	for i := range *images {
		if p := &(*images)[i]; p.ID == "" && p.URL == "" && len(p.Data) == 0 {
			return errors.New("images: an empty one needs an id in image_uuids")
		}
	}
	return nil
}

// setIDs gives each part its id; nil ids change nothing.
func setIDs(parts []prompt.Part, ids [][]byte) error {
	if ids == nil {
		return nil
	}
	if len(ids) != len(parts) {
		return fmt.Errorf("must be one for each image, got %d for %d", len(ids), len(parts))
	}
	for i, v := range ids {
		id, err := text(v)
		if err != nil {
			return err
		}
		if id == "" {
			return errors.New("must not be empty")
		}
		parts[i].ID = id
	}
	return nil
}

// objectOf copies a value that must be an object.
func objectOf(value []byte) ([]byte, error) {
	if value[0] != '{' {
		return nil, fmt.Errorf("must be an object, got %s", kind(value))
	}
	return bytes.Clone(value), nil
}
