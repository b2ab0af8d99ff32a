package workload

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// grammar makes what programs write and read: functions, log lines and JSON objects, in blocks of one kind.
type grammar struct{}

// perByte implements corpus (0.35 and 0.36 were measured with Llama 3 and DeepSeek V4, 0.44 with Qwen, for which each digit is a token).
func (grammar) perByte() float64 { return 0.37 }

// fill implements corpus. The last line is cut where the size is reached.
func (grammar) fill(b *strings.Builder, size int, random rand.PCG) {
	if size < 2 {
		return
	}
	g := script{random: random, line: make([]byte, 0, 512)}
	for left := size; left > 0; {
		g.line = append(g.line[:0], '\n')
		switch g.below(3) {
		case 0:
			g.function()
		case 1:
			g.log()
		default:
			g.object()
		}
		n := min(left, len(g.line))
		b.Write(g.line[:n])
		left -= n
	}
}

// script is a block being written.
type script struct {
	random rand.PCG
	line   []byte
}

func (g *script) below(n int) int { return below(&g.random, n) }

func (g *script) add(parts ...string) {
	for _, p := range parts {
		g.line = append(g.line, p...)
	}
}

// name writes an identifier of two words, the second with a capital if camel is set, else behind an underscore.
func (g *script) name(camel bool) string {
	words := english().words
	first, second := words[g.below(len(words))], words[g.below(len(words))]
	if camel {
		return first + string(second[0]-'a'+'A') + second[1:]
	}
	return first + "_" + second
}

func (g *script) number() string { return strconv.Itoa(g.below(10_000)) }

func (g *script) oneOf(choices ...string) string { return choices[g.below(len(choices))] }

// function writes a function of a few statements.
func (g *script) function() {
	local, argument := g.name(true), g.name(true)
	g.add("func ", g.name(true), "(", argument, " ", g.oneOf("int", "string", "[]byte", "float64"), ") error {\n")
	for range 1 + g.below(5) {
		switch g.below(4) {
		case 0:
			g.add("\t", local, " := ", g.name(true), "(", argument, ", ", g.number(), ")\n")
		case 1:
			g.add("\tif ", local, " ", g.oneOf("<", "==", "!=", ">="), " ", g.number(), " {\n\t\treturn ", g.name(true), "(", local, ")\n\t}\n")
		case 2:
			g.add("\tfor i := range ", g.number(), " {\n\t\t", local, " += ", g.name(true), "[i]\n\t}\n")
		default:
			g.add("\t// ", g.name(false), " ", g.oneOf("is kept", "may be empty", "was checked", "comes first"), "\n")
		}
	}
	g.add("\treturn nil\n}\n")
}

// log writes lines as a service does.
func (g *script) log() {
	for range 1 + g.below(6) {
		g.add("2026-0", strconv.Itoa(1+g.below(9)), "-1", strconv.Itoa(g.below(10)), "T0", strconv.Itoa(g.below(10)), ":", strconv.Itoa(10+g.below(50)), ":",
			strconv.Itoa(10+g.below(50)), ".", strconv.Itoa(100+g.below(900)), "Z ", g.oneOf("INFO", "WARN", "ERROR", "DEBUG"), " component=", g.name(false),
			" msg=\"", strings.ReplaceAll(g.name(false), "_", " "), "\" id=", g.number(), " duration_ms=", g.number(), "\n")
	}
}

// object writes a JSON object over several lines.
func (g *script) object() {
	g.add("{\n")
	for range 1 + g.below(5) {
		g.add("  \"", g.name(false), "\": ")
		switch g.below(4) {
		case 0:
			g.add(g.number())
		case 1:
			g.add("\"", g.name(true), "\"")
		case 2:
			g.add("[", g.number(), ", ", g.number(), ", ", g.number(), "]")
		default:
			g.add(g.oneOf("true", "false", "null"))
		}
		g.add(",\n")
	}
	g.add("  \"", g.name(false), "\": ", g.number(), "\n}\n")
}
