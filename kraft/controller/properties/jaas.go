package properties

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-kafka/understudy/internal/secure"
)

// login is a JAAS entry of Kafka's PlainLoginModule: who this node is, and whom it believes.
type login struct {
	username string
	password secure.Password
	users    map[string]secure.Password
}

const plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"

// jaas reads a listener's plain.sasl.jaas.config, which stands under its prefix or, as Kafka also takes it, without, and a client's
// sasl.jaas.config. The name of the property that counts comes with it.
func (l listenerSource) jaas() (string, login) {
	property := "plain.sasl.jaas.config"
	if l.prefix == "" {
		property = "sasl.jaas.config"
	}
	name := l.name(property)
	text, ok := l.lookup(name)
	if !ok {
		l.refuse(l.prefix+property, "is not set: SASL PLAIN needs user names and passwords (a JAAS file of its own is not supported)")
		return name, login{}
	}
	entry, err := parseJAAS(text)
	if err != nil {
		l.refuse(name, "%v", err)
	}
	return name, entry
}

// parseJAAS reads one entry, MODULE FLAG OPTION=VALUE … ;  (Kafka: JaasConfig). Errors repeat no value.
func parseJAAS(text string) (login, error) {
	tokens, err := jaasTokens(text)
	if err != nil {
		return login{}, err
	}
	if len(tokens) < 3 || tokens[len(tokens)-1] != ";" {
		return login{}, errors.New("is not of the form MODULE FLAG OPTION=\"VALUE\" … ;")
	}
	if tokens[0] != plainModule {
		return login{}, fmt.Errorf("names another module than %s", plainModule)
	}
	flags := []string{"required", "requisite", "sufficient", "optional"}
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.EqualFold(f, tokens[1]) }) {
		return login{}, fmt.Errorf("has no control flag: want one of %s", strings.Join(flags, ", "))
	}
	l := login{users: map[string]secure.Password{}}
	rest := tokens[2 : len(tokens)-1]
	for len(rest) > 0 {
		if len(rest) < 3 || rest[1] != "=" || rest[0] == "=" || rest[2] == "=" || slices.Contains(rest[:3], ";") {
			return login{}, errors.New("has an option that is not of the form OPTION=\"VALUE\"; or holds more than one entry")
		}
		option, value := rest[0], rest[2]
		rest = rest[3:]
		switch user, isUser := strings.CutPrefix(option, "user_"); {
		case option == "username":
			l.username = value
		case option == "password":
			l.password = secure.Password(value)
		case isUser:
			l.users[user] = secure.Password(value)
		}
	}
	return l, nil
}

// jaasTokens splits as java.io.StreamTokenizer does in Kafka's JaasConfig: words, quoted texts, and the signs = and ;.
func jaasTokens(text string) (tokens []string, err error) {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c <= ' ':
			i++
		case c == '=' || c == ';':
			tokens = append(tokens, string(c))
			i++
		case c == '"' || c == '\'':
			var b strings.Builder
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				b.WriteByte(text[i])
			}
			if i == len(text) {
				return nil, errors.New("has a quotation mark without its partner")
			}
			i++
			tokens = append(tokens, b.String())
		default:
			end := i
			for end < len(text) && text[end] > ' ' && !strings.ContainsRune("=;\"'", rune(text[end])) {
				end++
			}
			tokens = append(tokens, text[i:end])
			i = end
		}
	}
	return tokens, nil
}
