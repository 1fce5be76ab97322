package io.pipelane.server.access;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;

/**
 * A reader of the file of API keys, in YAML. What it says of a file never repeats what stands in
 * it.
 */
final class KeyFile {
  private static final int MAXIMUM_BYTES = 1 << 20;
  private static final int MAXIMUM_KEYS = 1_000;
  private static final int MAXIMUM_MODELS = 1_000;
  private static final String DIGEST = "[0-9a-fA-F]{64}";
  private static final Set<String> MEMBERS =
      Stream.concat(Stream.of("name", "sha256", "roles", "models"), WrittenLimits.MEMBERS.stream())
          .collect(Collectors.toUnmodifiableSet());
  private static final ObjectMapper YAML =
      new ObjectMapper(
          YAMLFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build());

  private final Path file;
  private final LongSupplier nanoClock;

  /**
   * @param nanoClock that rates are measured by
   */
  KeyFile(Path file, LongSupplier nanoClock) {
    this.file = file;
    this.nanoClock = nanoClock;
  }

  /**
   * Reads the file.
   *
   * @throws StatusException {@link Status#INVALID_ARGUMENT} naming the key and what is wrong with
   *     it
   */
  KeyRing read() {
    try {
      if (Files.size(file) > MAXIMUM_BYTES) {
        throw refused("has more than " + MAXIMUM_BYTES + " bytes");
      }
      return parse(YAML.readTree(Files.readAllBytes(file)));
    } catch (JsonProcessingException e) {
      throw refused("cannot be read as YAML" + place(e));
    } catch (IOException e) {
      throw refused("cannot be read: " + e.getClass().getSimpleName());
    }
  }

  /** Where it is wrong; what is wrong is the parser's message, which quotes the file. */
  private static String place(JsonProcessingException error) {
    if (error.getCause() instanceof MarkedYAMLException marked && marked.getProblemMark() != null) {
      Mark mark = marked.getProblemMark(); // The location is that of what could be read before.
      return place(mark.getLine() + 1, mark.getColumn() + 1);
    }
    JsonLocation location = error.getLocation();
    return location == null ? "" : place(location.getLineNr(), location.getColumnNr());
  }

  private static String place(int line, int column) {
    return " at line %d, column %d".formatted(line, column);
  }

  private KeyRing parse(JsonNode root) {
    JsonNode keys = root.path("keys");
    if (!keys.isArray() || root.size() != 1 || keys.size() > MAXIMUM_KEYS) {
      throw refused("must have the list \"keys\", of at most " + MAXIMUM_KEYS + ", and no more");
    }
    List<KeyRing.Entry> entries = new ArrayList<>();
    Set<String> digests = new HashSet<>();
    Set<String> names = new HashSet<>();
    for (JsonNode key : keys) {
      String name = key.path("name").asText();
      if (!name.matches(KeyText.NAME) || !names.add(name)) {
        throw refused(
            "key %d needs a name of its own, %s".formatted(entries.size() + 1, KeyText.NAME));
      }
      KeyRing.Entry entry = entry(name, key);
      if (!digests.add(entry.digest())) {
        throw refused("key \"" + name + "\" is another one's, too");
      }
      entries.add(entry);
    }
    return new KeyRing(entries);
  }

  private KeyRing.Entry entry(String name, JsonNode key) {
    for (Map.Entry<String, JsonNode> member : key.properties()) {
      if (!MEMBERS.contains(member.getKey())) {
        throw refused(
            "key \"%s\" has a member that is unknown; known are %s"
                .formatted(name, MEMBERS.stream().sorted().toList()));
      }
    }
    String digest = key.path("sha256").asText();
    if (!digest.matches(DIGEST)) {
      throw refused("key \"" + name + "\": sha256 must be 64 hexadecimal digits, in quotes");
    }
    WrittenLimits limits =
        new WrittenLimits(key, reason -> refused("key \"" + name + "\": " + reason));
    String title = "key \"" + name + '"';
    Caller caller =
        new Caller(
            title,
            "key " + name,
            roles(name, key),
            models(name, key),
            new Allowance(title, limits.over(Allowance.Limits.NONE), nanoClock),
            limits.isOffline());
    return new KeyRing.Entry(digest.toLowerCase(Locale.ROOT), caller);
  }

  private Set<Role> roles(String name, JsonNode key) {
    Set<Role> roles = EnumSet.noneOf(Role.class);
    for (JsonNode role : key.path("roles")) {
      Stream.of(Role.values()).filter(r -> r.text().equals(role.asText())).forEach(roles::add);
    }
    if (roles.isEmpty() || roles.size() != key.path("roles").size()) {
      throw refused("key \"" + name + "\": roles must list some of infer, manage, observe");
    }
    return roles;
  }

  private List<String> models(String name, JsonNode key) {
    JsonNode written = key.path("models");
    if (written.isMissingNode()) {
      return List.of("*");
    }
    List<String> models = new ArrayList<>();
    written.forEach(model -> models.add(model.asText()));
    if (!written.isArray()
        || models.size() > MAXIMUM_MODELS
        || models.stream().anyMatch(model -> !model.matches(KeyText.MODELS))) {
      throw refused(
          "key \"%s\": models must be a list of at most %d names, which may end with *"
              .formatted(name, MAXIMUM_MODELS));
    }
    return models;
  }

  private StatusException refused(String reason) {
    return new StatusException(
        Status.INVALID_ARGUMENT, "security.api-keys: the file " + file + " " + reason);
  }
}
