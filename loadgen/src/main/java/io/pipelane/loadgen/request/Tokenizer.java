package io.pipelane.loadgen.request;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.LongStream;

/** A tokenizer that turns text into tokens as a {@code tokenizer.json} of Hugging Face's says. */
final class Tokenizer implements AutoCloseable {
  /*
   * The library unpacks its native code into a cache in the user's home, and unless told that it is
   * offline it may report its use over the network. Both are settled by system properties, which it
   * reads when its first tokenizer is made: the native code goes to a temporary folder that is
   * removed as soon as the code is loaded.
   */
  private static final Logger LIBRARY_LOG = Logger.getLogger("ai.djl");

  private final HuggingFaceTokenizer library;

  private Tokenizer(HuggingFaceTokenizer library) {
    this.library = library;
  }

  /** A text's tokens, with marks at both ends. */
  record Tokens(List<Long> ids, List<Long> mask, List<Long> types) {}

  /**
   * Opens a tokenizer.
   *
   * @param maximumTokens a longer text is cut off
   */
  static synchronized Tokenizer open(Path file, int maximumTokens) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new IOException("there is no tokenizer " + file + "; name one with --tokenizer");
    }
    Path folder = Files.createTempDirectory("pipelane-tokenizer");
    try {
      LIBRARY_LOG.setLevel(Level.OFF); // What matters comes as an exception, too.
      System.setProperty("ai.djl.offline", "true");
      System.setProperty("ENGINE_CACHE_DIR", folder.toString());
      return new Tokenizer(
          HuggingFaceTokenizer.newInstance(
              file,
              Map.of(
                  "padding", "false",
                  "truncation", "true",
                  "maxLength", Integer.toString(maximumTokens))));
    } catch (EngineException | LinkageError e) {
      throw new IOException(
          "its native code cannot be unpacked to %s and loaded there (%s); name a folder with 20 MB of room, not mounted noexec, with JAVA_OPTS=-Djava.io.tmpdir=FOLDER"
              .formatted(folder.getParent(), e),
          e);
    } finally {
      System.clearProperty("ENGINE_CACHE_DIR");
      try (var paths = Files.walk(folder)) {
        for (Path path : paths.toList().reversed()) {
          Files.delete(path);
        }
      }
    }
  }

  Tokens encode(String text) {
    Encoding encoding = library.encode(text);
    return new Tokens(
        list(encoding.getIds()), list(encoding.getAttentionMask()), list(encoding.getTypeIds()));
  }

  private static List<Long> list(long[] values) {
    return LongStream.of(values).boxed().toList();
  }

  @Override
  public void close() {
    library.close();
  }
}
