package scrape

import promconfig "github.com/prometheus/common/config"

// Detached is a configuration of a client as it was written, which no client changes any more: clients keep in it what they made of its proxies, so
// that one that is in use would no longer equal itself read from the same file again. Two detached ones are the same if they are deeply equal.
func Detached(c promconfig.HTTPClientConfig) promconfig.HTTPClientConfig {
	c.ProxyConfig = written(&c.ProxyConfig)
	if c.OAuth2 != nil {
		oauth2 := *c.OAuth2
		oauth2.ProxyConfig = written(&oauth2.ProxyConfig)
		c.OAuth2 = &oauth2
	}
	return c
}

func written(c *promconfig.ProxyConfig) promconfig.ProxyConfig {
	return promconfig.ProxyConfig{
		ProxyURL: c.ProxyURL, NoProxy: c.NoProxy, ProxyFromEnvironment: c.ProxyFromEnvironment, ProxyConnectHeader: c.ProxyConnectHeader,
	}
}
