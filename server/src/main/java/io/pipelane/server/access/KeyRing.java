package io.pipelane.server.access;

import java.security.MessageDigest;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The keys of one key file. Immutable. */
final class KeyRing {
  /*
   * Only digests are kept, and every one of them is compared to its last byte. So neither the file
   * nor the time that an answer takes tells anything of a key. A plain digest is enough because
   * keys are random, 256 bits of them as `pipelane key` makes them; nobody tries them all.
   */
  private final List<Entry> entries;
  private final List<byte[]> digests;

  /** A key's digest, in hexadecimal, and who holds the key. */
  record Entry(String digest, Caller caller) {}

  KeyRing(List<Entry> entries) {
    this.entries = List.copyOf(entries);
    this.digests = entries.stream().map(entry -> HexFormat.of().parseHex(entry.digest)).toList();
  }

  /** Who holds a key; null for nobody. */
  @Nullable Caller find(String key) {
    byte[] presented = KeyText.digestBytes(key);
    Caller found = null;
    for (int i = 0; i < digests.size(); i++) {
      if (MessageDigest.isEqual(digests.get(i), presented)) {
        found = entries.get(i).caller;
      }
    }
    return found;
  }

  /** These keys, with what those that were there before have used up. */
  KeyRing continuing(KeyRing before) {
    Map<String, Caller> known = new HashMap<>();
    before.entries.forEach(entry -> known.put(entry.digest, entry.caller));
    return new KeyRing(
        entries.stream()
            .map(
                entry -> {
                  Caller earlier = known.get(entry.digest);
                  return earlier == null
                      ? entry
                      : new Entry(entry.digest, entry.caller.continuing(earlier));
                })
            .toList());
  }
}
