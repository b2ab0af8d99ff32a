package endpoint

import (
	"math"
	"strconv"

	"github.com/aiperf-exporter/aiperf-exporter/metrics"
)

// usageKey is one way in which a server spells a token count. Those of one meaning stand together, in order of precedence.
type usageKey int

const (
	inputOpenAI    usageKey = iota // prompt_tokens
	inputAnthropic                 // input_tokens
	inputGemini                    // promptTokenCount
	inputBedrock                   // inputTokens
	inputWatsonx                   // input_token_count

	outputOpenAI    // completion_tokens
	outputAnthropic // output_tokens
	outputGemini    // candidatesTokenCount
	outputBedrock   // outputTokens
	outputWatsonx   // generated_token_count

	reasoningChat      // completion_tokens_details.reasoning_tokens
	reasoningResponses // output_tokens_details.reasoning_tokens
	reasoningGemini    // thoughtsTokenCount

	cachedChat      // prompt_tokens_details.cached_tokens
	cachedResponses // input_tokens_details.cached_tokens
	cachedAnthropic // cache_read_input_tokens
	cachedDeepSeek  // prompt_cache_hit_tokens
	cachedGemini    // cachedContentTokenCount
	cachedBedrock   // cacheReadInputTokens
	cachedPlain     // cached_tokens

	writeAnthropic // cache_creation_input_tokens
	writeBedrock   // cacheWriteInputTokens

	usageKeys // how many there are
)

// usageNumber maps the names whose value is a count.
//
//nolint:gocyclo // a table; a map by string would cost the hot path more
func usageNumber(name []byte) (key usageKey, ok bool) {
	switch string(name) {
	case "prompt_tokens":
		return inputOpenAI, true
	case "input_tokens":
		return inputAnthropic, true
	case "promptTokenCount":
		return inputGemini, true
	case "inputTokens":
		return inputBedrock, true
	case "input_token_count":
		return inputWatsonx, true
	case "completion_tokens":
		return outputOpenAI, true
	case "output_tokens":
		return outputAnthropic, true
	case "candidatesTokenCount":
		return outputGemini, true
	case "outputTokens":
		return outputBedrock, true
	case "generated_token_count":
		return outputWatsonx, true
	case "thoughtsTokenCount":
		return reasoningGemini, true
	case "cache_read_input_tokens":
		return cachedAnthropic, true
	case "prompt_cache_hit_tokens":
		return cachedDeepSeek, true
	case "cachedContentTokenCount":
		return cachedGemini, true
	case "cacheReadInputTokens":
		return cachedBedrock, true
	case "cached_tokens":
		return cachedPlain, true
	case "cache_creation_input_tokens":
		return writeAnthropic, true
	case "cacheWriteInputTokens":
		return writeBedrock, true
	}
	return 0, false
}

// usageDetail maps the names whose value is an object that holds one count of interest.
func usageDetail(name []byte) (key usageKey, member string, ok bool) {
	switch string(name) {
	case "completion_tokens_details":
		return reasoningChat, "reasoning_tokens", true
	case "output_tokens_details":
		return reasoningResponses, "reasoning_tokens", true
	case "prompt_tokens_details":
		return cachedChat, "cached_tokens", true
	case "input_tokens_details":
		return cachedResponses, "cached_tokens", true
	}
	return 0, "", false
}

// usageCounts holds what one usage object says, by key.
type usageCounts [usageKeys]metrics.Count

// usage reads the value of a usage member. Null, or an object without counts, is an empty Usage.
func (s *scanner) usage() metrics.Usage {
	if s.peek() != '{' {
		s.skip()
		return metrics.Usage{}
	}
	n := s.usageCounts()
	return n.resolve()
}

// usageCounts reads the counts of a usage member as they stand.
func (s *scanner) usageCounts() usageCounts {
	var n usageCounts
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		name := s.name()
		if key, ok := usageNumber(name); ok {
			n[key] = s.count()
		} else if key, member, ok := usageDetail(name); ok {
			n[key] = s.memberCount(member)
		} else {
			s.skip()
		}
	}
	return n
}

// fill takes the counts that are not known from other.
func (n *usageCounts) fill(other *usageCounts) {
	for key := range n {
		if !n[key].Known {
			n[key] = other[key]
		}
	}
}

// memberCount reads an object and returns one of its members as a count.
func (s *scanner) memberCount(member string) metrics.Count {
	var n metrics.Count
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		if string(s.name()) == member {
			n = s.count()
		} else {
			s.skip()
		}
	}
	return n
}

// resolve picks the first spelling that is present of each meaning, and brings vendors who count apart what others count together
// into our form: input with the cache, output with the reasoning.
func (n *usageCounts) resolve() metrics.Usage {
	input, output := n.first(inputOpenAI, inputWatsonx), n.first(outputOpenAI, outputWatsonx)
	reasoning := n.first(reasoningChat, reasoningGemini)
	u := metrics.Usage{
		Input: n[input], Output: n[output], Reasoning: n[reasoning],
		CachedInput: n[n.first(cachedChat, cachedPlain)], CacheWrite: n[n.first(writeAnthropic, writeBedrock)],
	}
	// first only returns one of these keys if its count is known: "none" is the last key of its meaning.
	if input == inputAnthropic {
		u.Input.N += n[cachedAnthropic].N + n[writeAnthropic].N
	}
	if input == inputBedrock {
		u.Input.N += n[cachedBedrock].N + n[writeBedrock].N
	}
	if output == outputGemini && reasoning == reasoningGemini {
		u.Output.N += u.Reasoning.N // 0 if unknown
	}
	return u
}

// first returns the first of the keys from up to last whose count is known, last if none is.
func (n *usageCounts) first(from, last usageKey) usageKey {
	for key := from; key < last; key++ {
		if n[key].Known {
			return key
		}
	}
	return last
}

// count reads a token count; any value but a whole number is unknown.
func (s *scanner) count() metrics.Count {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		s.skip()
		return metrics.Count{}
	}
	return parseCount(s.number())
}

// maxCount keeps counts exact in a float64 and sums of them far from overflow.
const maxCount = 1e15

// parseCount goes through a float64 because some proxies re-encode whole numbers: 12.0.
func parseCount(raw []byte) metrics.Count {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxCount {
		return metrics.Count{}
	}
	return metrics.Tokens(int64(n))
}
