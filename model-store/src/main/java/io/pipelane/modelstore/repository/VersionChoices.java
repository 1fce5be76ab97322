package io.pipelane.modelstore.repository;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.ModelName;
import io.pipelane.modelstore.cache.ContentHashes;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The owners' choices of their models' versions, a file for each model beside what is derived from
 * models: the repository may be read-only. Safe for any thread; methods block on files.
 */
public final class VersionChoices {
  private static final System.Logger LOG = System.getLogger(VersionChoices.class.getName());
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int HASH_DIGITS = 16;

  private final Path folder;
  private final Map<String, VersionChoice> known = new ConcurrentHashMap<>();

  private VersionChoices(Path folder) {
    this.folder = folder;
  }

  /** Those of a repository, kept in a cache folder that several may share. */
  public static VersionChoices of(Path repository, Path cache) {
    String key = ContentHashes.ofText(repository.toAbsolutePath().normalize().toString());
    return new VersionChoices(cache.resolve("choices").resolve(key.substring(0, HASH_DIGITS)));
  }

  /** What has been chosen of a model; a file that cannot be read counts as none. */
  public VersionChoice of(String model) {
    return ModelName.isOne(model) ? known.computeIfAbsent(model, this::read) : VersionChoice.NONE;
  }

  private VersionChoice read(String model) {
    Path file = file(model);
    if (!Files.exists(file)) {
      return VersionChoice.NONE;
    }
    try {
      JsonNode node = JSON.readTree(Files.readAllBytes(file));
      Optional<ServedVersions> served =
          node.has("serve")
              ? Optional.of(ServedVersions.parse(node.path("serve").asText()))
              : Optional.empty();
      Map<String, Long> labels =
          JSON.convertValue(node.path("labels"), new TypeReference<Map<String, Long>>() {});
      return new VersionChoice(
          served, node.path("default").asText(), labels == null ? Map.of() : labels);
    } catch (IOException | RuntimeException e) {
      LOG.log(Level.ERROR, "what was chosen of model \"" + model + "\" is lost", e);
      return VersionChoice.NONE;
    }
  }

  /**
   * Keeps what has been chosen of a model; it is on disk when this returns.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when it cannot be kept; nothing has changed
   *     then
   */
  public void put(String model, VersionChoice choice) {
    try {
      if (choice.isNone()) {
        Files.deleteIfExists(file(model));
      } else {
        write(model, choice);
      }
    } catch (IOException e) {
      throw new StatusException(
          Status.UNAVAILABLE, "what is chosen cannot be kept: " + e.getMessage(), e);
    }
    known.put(model, choice);
  }

  private void write(String model, VersionChoice choice) throws IOException {
    ObjectNode node = JSON.createObjectNode();
    choice.served().ifPresent(served -> node.put("serve", served.toString()));
    node.put("default", choice.standard());
    choice.labels().forEach(node.putObject("labels")::put);
    Files.createDirectories(folder);
    Path draft = Files.createTempFile(folder, "choice", ".part");
    try {
      Files.write(draft, JSON.writeValueAsBytes(node));
      try (FileChannel channel = FileChannel.open(draft, StandardOpenOption.WRITE)) {
        channel.force(true);
      }
      Files.move(draft, file(model), StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  private Path file(String model) {
    return folder.resolve(model + ".json");
  }
}
