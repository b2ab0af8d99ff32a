package endpoint

// Credential is the header that carries a key, and what stands before the key, as the user or the protocol wants it: Authorization with a
// bearer token unless one of them says otherwise.
func (c *Config) Credential() (header, prefix string) {
	if c.KeyHeader != "" {
		return c.KeyHeader, ""
	}
	if build := constructor(c.Type); build != nil {
		if traits := build(c).Traits(); traits.KeyHeader != "" {
			return traits.KeyHeader, ""
		}
	}
	return "Authorization", "Bearer "
}
