"""How fast Presidio's pattern recognizers and detect-secrets' plugins read a text: one JSON line for each."""

import json
import sys
import time

# Presidio is given texts of about this size, as a gateway would give it responses.
DOCUMENT = 10 * 1024


def documents(text):
    lines, size, document = text.splitlines(keepends=True), 0, []
    for line in lines:
        document.append(line)
        size += len(line)
        if size >= DOCUMENT:
            yield "".join(document)
            size, document = 0, []
    yield "".join(document)


def pattern_recognizers():
    from presidio_analyzer import PatternRecognizer, predefined_recognizers

    for name in predefined_recognizers.__all__:
        kind = getattr(predefined_recognizers, name)
        if isinstance(kind, type) and issubclass(kind, PatternRecognizer):
            try:
                yield kind()
            except Exception:
                # Some want a model or a service; they are not pattern recognizers alone.
                continue


def presidio(path):
    import tldextract

    # The list of domain endings as it is packaged: nothing is fetched during a measurement.
    tldextract.tldextract.TLD_EXTRACTOR = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    recognizers = list(pattern_recognizers())
    for recognizer in recognizers:
        recognizer.analyze("mary@shop.example.com", recognizer.supported_entities, None)
    with open(path, encoding="utf-8") as file:
        parts = list(documents(file.read()))

    def run():
        return sum(
            len(recognizer.analyze(part, recognizer.supported_entities, None) or [])
            for part in parts
            for recognizer in recognizers
        )

    return f"Presidio, {len(recognizers)} pattern recognizers", run


def detect_secrets(path):
    from detect_secrets import SecretsCollection
    from detect_secrets.settings import default_settings, get_plugins

    with default_settings():
        plugins = len(get_plugins())

    def run():
        found = SecretsCollection()
        with default_settings():
            found.scan_file(path)
        return sum(len(secrets) for secrets in found.data.values())

    return f"detect-secrets, {plugins} plugins", run


def measure(peer, path, size):
    name, run = peer(path)
    started = time.process_time()
    findings = run()
    spent = time.process_time() - started
    line = {"peer": name, "megabytes_per_second": size / 1e6 / spent, "findings": findings}
    print(json.dumps(line))


def main():
    path = sys.argv[1]
    with open(path, "rb") as file:
        size = len(file.read())
    for peer in (presidio, detect_secrets):
        measure(peer, path, size)


main()
