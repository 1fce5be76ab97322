package io.pipelane.server.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AccessControlTest {
  @TempDir Path folder;

  private static StatusException refused(
      AccessControl access, @Nullable String authorization, @Nullable String key) {
    StatusException error =
        assertThrows(StatusException.class, () -> access.identify(authorization, key));
    assertEquals(Status.UNAUTHENTICATED, error.status());
    return error;
  }

  @Test
  void withoutFile_everybodyMayDoEverything() {
    try (AccessControl access = AccessControl.open()) {
      Caller caller = access.identify(null, null);
      for (Role role : Role.values()) {
        caller.check(Demand.of(role, Demand.ALL_MODELS));
      }
    }
  }

  @Test
  void sequences_ofTwoKeys_areTwo() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      String one = Keys.sequenceOwner(access.identify(null, "infer"));
      assertNotEquals(one, Keys.sequenceOwner(access.identify(null, "tenant")));
      Keys.replace(access, folder, Keys.usual() + Keys.entry("another", "roles: [infer]"));
      assertEquals(one, Keys.sequenceOwner(access.identify(null, "infer")));
      assertEquals("", Keys.sequenceOwner(Caller.ANYBODY));
    }
  }

  @Test
  void key_isTakenFromEitherField() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      access.identify("Bearer infer", null).check(Demand.of(Role.INFER, "any"));
      access.identify("bearer  infer ", null);
      access.identify(null, "infer");
      refused(access, null, null);
      refused(access, "Basic infer", null);
      refused(access, "Bearer other", "infer");
      assertFalse(String.valueOf(refused(access, null, "secret").getMessage()).contains("secret"));
    }
  }

  /** As is made of a variable that is not set. */
  @Test
  void key_thatIsEmpty_isNoneThoughTheFileHasItsDigest() throws IOException {
    try (AccessControl access =
        Keys.of(
            folder,
            Keys.entry("a", "roles: [infer]").replace(KeyText.digest("a"), KeyText.digest("")))) {
      refused(access, null, "");
      refused(access, "Bearer  ", null);
    }
  }

  @Test
  void priority_offlineKey_asksOfflineWhateverItsRequestsSay() throws IOException {
    InferenceRequest online =
        new InferenceRequest(new ModelVersion("any", 1), List.of(), List.of());
    String keys =
        Keys.entry("night", "roles: [infer], priority: offline")
            + Keys.entry("day", "roles: [infer]");
    try (AccessControl access = Keys.of(folder, keys)) {
      assertEquals(Priority.OFFLINE, access.identify(null, "night").classed(online).priority());
      assertEquals(Priority.ONLINE, access.identify(null, "day").classed(online).priority());
    }
    assertThrows(
        StatusException.class,
        () -> Keys.of(folder, Keys.entry("night", "roles: [infer], priority: low")));
  }

  @Test
  void models_areNamesOrBeginnings() throws IOException {
    try (AccessControl access = Keys.of(folder, Keys.usual())) {
      Caller tenant = access.identify(null, "tenant");
      assertTrue(tenant.sees("pair"));
      assertTrue(tenant.sees("cube"));
      assertFalse(tenant.sees("pairs"));
      assertThrows(
          StatusException.class, () -> tenant.check(Demand.of(Role.INFER, Demand.ALL_MODELS)));
    }
  }

  @Test
  void file_isReadAgainWhenItChanges() throws IOException {
    Path file = folder.resolve("keys.yaml");
    try (AccessControl access =
        Keys.of(folder, Keys.entry("a", "roles: [infer], concurrent-requests: 1"))) {
      access.identify(null, "a").begin();
      replace(
          file,
          Keys.entry("b", "roles: [infer]")
              + Keys.entry("a", "roles: [observe], concurrent-requests: 1"),
          10);
      access.look();
      access.identify(null, "b");
      Caller again = access.identify(null, "a");
      again.check(Demand.of(Role.OBSERVE, ""));
      assertThrows(StatusException.class, again::begin, "its request is still under way");

      replace(file, "nonsense", 20);
      assertThrows(StatusException.class, access::look);
      access.identify(null, "b");
      Files.delete(file);
      access.look();
      access.identify(null, "b");
    }
  }

  /** The parser's own message quotes the line. */
  @Test
  void fileThatIsNoYaml_isToldWhere() throws IOException {
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> Keys.of(folder, Keys.entry("a", "roles: [infer]") + "  - {name: \"secret}\n"));
    assertTrue(
        String.valueOf(error.getMessage())
            .matches(".* cannot be read as YAML at line [34], column \\d+"),
        error::getMessage);
  }

  private static void replace(Path file, String entries, long seconds) throws IOException {
    Files.writeString(file, "keys:\n" + entries);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1000 * seconds));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "  - {name: a, sha256: \"12\", roles: [infer]}",
        "  - {name: a, roles: [infer]}",
        "  - {name: a, sha256: \"D\", roles: [root]}",
        "  - {name: a, sha256: \"D\", roles: []}",
        "  - {name: a, sha256: \"D\"}",
        "  - {name: a, sha256: \"D\", roles: [infer], key: D}",
        "  - {name: a, sha256: \"D\", roles: [infer], models: [\"a*b\"]}",
        "  - {name: a, sha256: \"D\", roles: [infer], requests-per-second: 0}",
        "  - {name: a, sha256: \"D\", roles: [infer], concurrent-requests: many}",
        "  - {name: a, sha256: \"D\", roles: [infer], concurrent-requests: 0.5}",
        "  - {name: a, sha256: \"D\", roles: [infer], requests-per-second: 1, burst: 1.5}",
        "  - {name: a, sha256: \"D\", roles: [infer], requests-per-second: 0.00001}",
        "  - {name: a, sha256: \"D\", roles: [infer], models: [a], models: [\"*\"]}",
        "  - {name: a, sha256: \"D\", roles: [infer], priority: }",
        "  - {name: a, sha256: \"D\", roles: [infer]}\n  - {name: b, sha256: \"D\", roles: [infer]}",
        "  - {name: \"a/b\", sha256: \"D\", roles: [infer]}",
        "  - [",
      })
  void filesThatAreWrong_areRefusedWithoutQuotingThem(String entries) {
    String digest = "0123456789abcdef".repeat(4);
    StatusException error =
        assertThrows(
            StatusException.class,
            () -> Keys.of(folder, entries.replace("\"D\"", '"' + digest + '"')));
    assertEquals(Status.INVALID_ARGUMENT, error.status());
    String message = String.valueOf(error.getMessage());
    assertTrue(message.startsWith("security.api-keys: "), message);
    assertFalse(message.contains(digest), message);
  }

  @Test
  void missingFile_isRefused() {
    assertThrows(
        StatusException.class,
        () ->
            AccessControl.of(
                Optional.of(folder.resolve("none")), Optional.empty(), OptionalInt.empty()));
  }
}
