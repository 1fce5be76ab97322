package io.pipelane.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A reader of a YAML file into dotted keys, each with the line it was written on. */
final class ConfigFile {
  private static final int MAX_BYTES = 1 << 20;

  private final Path path;
  private final Map<String, WrittenValue> values = new LinkedHashMap<>();

  private ConfigFile(Path path) {
    this.path = path;
  }

  /**
   * Reads a file; keys are not checked.
   *
   * @throws ConfigException when it cannot be read or is no mapping of keys to single values
   */
  static Map<String, WrittenValue> read(Path path) {
    ConfigFile file = new ConfigFile(path);
    try (InputStream in = Files.newInputStream(path)) {
      byte[] bytes = in.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new ConfigException(path + " is longer than 1MiB, too long for a configuration");
      }
      file.parse(bytes);
    } catch (JsonProcessingException e) {
      throw new ConfigException(path + " is not valid YAML: " + e.getOriginalMessage(), e);
    } catch (NoSuchFileException e) {
      throw new ConfigException("there is no configuration file " + path, e);
    } catch (IOException e) {
      throw new ConfigException("cannot read the configuration file " + path + ": " + e, e);
    }
    return file.values;
  }

  private void parse(byte[] bytes) throws IOException {
    try (JsonParser parser = new YAMLFactory().createParser(bytes)) {
      JsonToken first = parser.nextToken();
      if (first == null || first == JsonToken.VALUE_NULL) {
        return;
      }
      if (first != JsonToken.START_OBJECT) {
        throw new ConfigException(path + " must consist of lines \"key: value\"");
      }
      mapping(parser, "");
      if (parser.nextToken() != null) {
        throw new ConfigException(path + " holds more than one YAML document");
      }
    }
  }

  private void mapping(JsonParser parser, String prefix) throws IOException {
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String key = prefix + parser.currentName();
      String origin = path + " line " + parser.currentTokenLocation().getLineNr();
      JsonToken token = parser.nextToken();
      if (token == JsonToken.START_OBJECT) {
        mapping(parser, key + ".");
      } else if (token == JsonToken.VALUE_NULL) {
        empty(key, origin);
      } else if (token != null && token.isScalarValue()) {
        put(key, new WrittenValue(parser.getText().strip(), origin));
      } else {
        throw new ConfigException(origin + ": " + key + " must have a single value");
      }
    }
  }

  /** A section whose lines are all commented out is as good as none. */
  private static void empty(String key, String origin) {
    boolean section = Settings.groups().stream().anyMatch(group -> group.name().equals(key));
    if (!section) {
      throw new ConfigException(
          origin + ": " + key + " has no value; remove the line to get the default");
    }
  }

  private void put(String key, WrittenValue value) {
    @Nullable WrittenValue earlier = values.putIfAbsent(key, value);
    if (earlier != null) {
      throw new ConfigException(
          value.origin() + ": " + key + " is set already by " + earlier.origin());
    }
  }
}
