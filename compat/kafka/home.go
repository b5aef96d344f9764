package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
)

var serverJar = regexp.MustCompile(`^kafka_2\.\d+-(\d+\.\d+\.\d+)\.jar$`)

// Home is the Source for an unpacked Kafka download. It has one release only and refuses to pass for another.
func Home(home string, progress func(string)) Source {
	return func(ctx context.Context, release Release) (Dist, error) {
		found, files, err := readHome(home)
		if err != nil {
			return nil, err
		}
		if !release.IsZero() && found != release {
			return nil, fmt.Errorf("kafka home %s is release %s, not %s", home, found, release)
		}
		sum := sha256.Sum256([]byte(home))
		dir, err := cacheDir("home-" + found.String() + "-" + hex.EncodeToString(sum[:4]))
		if err != nil {
			return nil, err
		}
		return open(ctx, found, dir, files, progress)
	}
}

// readHome finds the jars of an unpacked download, and its release by the name of the broker's jar.
func readHome(home string) (Release, []string, error) {
	abs, err := filepath.Abs(home)
	if err != nil {
		return Release{}, nil, err
	}
	files, err := jarFiles(filepath.Join(abs, "libs"))
	if err != nil {
		return Release{}, nil, fmt.Errorf("kafka home %s: %w", home, err)
	}
	for _, file := range files {
		if m := serverJar.FindStringSubmatch(filepath.Base(file)); m != nil {
			release, err := ParseRelease(m[1])
			return release, files, err
		}
	}
	return Release{}, nil, fmt.Errorf("kafka home %s: no kafka_2.13-VERSION.jar under libs", home)
}
