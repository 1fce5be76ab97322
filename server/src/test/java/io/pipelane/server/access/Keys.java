package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.SequenceStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Files of keys for tests: a key's text is its name. */
public final class Keys {
  private Keys() {}

  /** An entry for a key. */
  public static String entry(String key, String more) {
    return "  - {name: %s, sha256: \"%s\", %s}\n".formatted(key, KeyText.digest(key), more);
  }

  /** One key for each role, by the role's name, and one that is for a single model. */
  public static String usual() {
    return entry("infer", "roles: [infer]")
        + entry("manage", "roles: [manage]")
        + entry("observe", "roles: [observe]")
        + entry("tenant", "roles: [infer, manage, observe], models: [pair, \"cu*\"]");
  }

  /** What lets in the keys of these entries. */
  public static AccessControl of(Path folder, String entries) throws IOException {
    return of(folder, entries, OptionalInt.empty());
  }

  /** Puts others in their place, and has them looked at. */
  public static void replace(AccessControl access, Path folder, String entries) throws IOException {
    Path file = folder.resolve("keys.yaml");
    Files.writeString(file, "keys:\n" + entries);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1));
    access.look();
  }

  public static AccessControl of(Path folder, String entries, OptionalInt managementPort)
      throws IOException {
    Path file = folder.resolve("keys.yaml");
    Files.writeString(file, "keys:\n" + entries);
    return AccessControl.of(Optional.of(file), Optional.empty(), managementPort);
  }

  /** Whose a caller's sequences are; their names stay his. */
  static String sequenceOwner(Caller caller) {
    InferenceRequest step =
        new InferenceRequest(
            new ModelVersion("sum", 1),
            List.of(),
            List.of(),
            OptionalLong.empty(),
            Priority.ONLINE,
            Optional.of(new SequenceStep("1", true, false)));
    SequenceStep own = caller.classed(step).sequence().orElseThrow();
    assertEquals("1", own.id());
    return own.owner();
  }
}
