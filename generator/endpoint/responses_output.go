package endpoint

// responseOutput joins the items of an answer.
func (s *scanner) responseOutput() content {
	var c content
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		c = c.or(s.responseItem())
	}
	return c
}

func (s *scanner) responseItem() content {
	var kind text
	var said, summary, name, arguments, input bool
	for ok := s.enterObject(); ok; ok = s.nextMember() {
		switch string(s.name()) {
		case "type":
			kind = s.text()
		case "content":
			said = s.anyText()
		case "summary":
			summary = s.anyText()
		case "name":
			name = !s.text().empty()
		case "arguments":
			arguments = !s.text().empty()
		case "input": // of a tool that takes any text
			input = !s.text().empty()
		default:
			s.skip()
		}
	}
	switch string(kind.bytes()) {
	case "message":
		return content{text: said}
	case "reasoning":
		return content{reasoning: said || summary}
	case "function_call", "mcp_call", "custom_tool_call":
		return content{tool: name || arguments || input}
	}
	return content{}
}

// anyText reads a list of parts and tells whether one of them has a text or a refusal.
func (s *scanner) anyText() bool {
	found := false
	for ok := s.enterArray(); ok; ok = s.nextElement() {
		var said, refused bool
		for ok := s.enterObject(); ok; ok = s.nextMember() {
			switch string(s.name()) {
			case "text":
				said = !s.text().empty()
			case "refusal":
				refused = !s.text().empty()
			default:
				s.skip()
			}
		}
		found = found || said || refused
	}
	return found
}
