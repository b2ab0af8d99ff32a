package workload

import (
	"encoding/binary"
	"encoding/hex"
	mathrand "math/rand/v2"
)

// stream names what random numbers are for, so that no use disturbs another.
type stream uint64

const (
	streamLengths stream = iota
	streamDelays
	streamPrompt
	streamShared
	streamPool
	streamPoolChoice
	streamSession
	streamPassage
	streamMedia
	streamBlock
)

// streams gives independent random numbers for each use, conversation and turn.
type streams [2]uint64

func newStreams(seed [32]byte) streams {
	return streams{binary.BigEndian.Uint64(seed[:]), binary.BigEndian.Uint64(seed[8:])}
}

// at is the generator for one of them. What is hashed differs in each, so that neighbours have nothing in common.
func (s streams) at(what stream, number uint64, turn int) mathrand.PCG {
	low, high := s.seeds(what, number, turn)
	var out mathrand.PCG
	out.Seed(low, high)
	return out
}

// seeds are the two numbers from which at starts.
func (s streams) seeds(what stream, number uint64, turn int) (low, high uint64) {
	low = mix(s[0] ^ mix(number))
	high = mix(s[1] ^ mix(low+uint64(what)<<32+uint64(turn)))
	return low, high
}

// mix is a bijection in which all bits depend on all bits: the finalizer of SplitMix64.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// nonceSize is the size of the hexadecimal number that starts each conversation, in bytes.
const nonceSize = 16

func hexadecimal(n uint64) string {
	var raw [nonceSize / 2]byte
	var digits [nonceSize]byte
	binary.BigEndian.PutUint64(raw[:], n)
	hex.Encode(digits[:], raw[:])
	return string(digits[:])
}
