package io.pipelane.demo.input;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The tokenizer that turns sentences into the inputs of a sentence model; it came with the model.
 */
public final class SentenceTokenizer implements AutoCloseable {
  /*
   * The tokenizer library unpacks its native code into a cache in the user's home, and unless told
   * that it is offline it may report its use over the network. Both are settled by system
   * properties, which it reads when its first tokenizer is made: the native code goes to a
   * temporary folder that is removed as soon as the code is loaded. Its remarks about that are
   * none of a user's business, and neither is the search for a GPU that it would tokenize no faster
   * on: without JNA on the class path (see the build) it finds none.
   */
  private static final String OFFLINE = "ai.djl.offline";
  private static final String NATIVE_CODE_FOLDER = "ENGINE_CACHE_DIR";
  private static final Logger LIBRARY_LOG = Logger.getLogger("ai.djl");

  private static final int NATIVE_CODE_MEGABYTES = 20;

  /** More tokens than this are cut off. */
  public static final int MAXIMUM_TOKENS = 512;

  private static final String PASSAGE =
      "The harbour wakes before the town does. Boats come in with crates of silver fish, gulls"
          + " follow them, and somebody has already lit the stove in the small cafe by the wall. ";

  private final HuggingFaceTokenizer tokenizer;

  /** Opens the tokenizer of a sentence model. */
  public SentenceTokenizer(DemoModel model) throws IOException {
    Map<String, String> options =
        Map.of(
            "padding", "false",
            "truncation", "true",
            "maxLength", Integer.toString(MAXIMUM_TOKENS));
    try (InputStream file = model.openTokenizer()) {
      tokenizer = open(file, options);
    }
  }

  private static HuggingFaceTokenizer open(InputStream file, Map<String, String> options) {
    try {
      return openUnpacked(file, options);
    } catch (IOException | EngineException | LinkageError e) {
      throw new StatusException(
          Status.UNAVAILABLE,
          "the tokenizer's native code cannot be unpacked to %s and loaded there (%s); name a folder with %d MB of room, not mounted noexec, with JAVA_OPTS=-Djava.io.tmpdir=FOLDER"
              .formatted(System.getProperty("java.io.tmpdir"), e, NATIVE_CODE_MEGABYTES),
          e);
    }
  }

  private static synchronized HuggingFaceTokenizer openUnpacked(
      InputStream file, Map<String, String> options) throws IOException {
    Path folder = Files.createTempDirectory("pipelane-tokenizer");
    try {
      LIBRARY_LOG.setLevel(Level.OFF); // What matters comes as an exception, too.
      System.setProperty(OFFLINE, "true");
      System.setProperty(NATIVE_CODE_FOLDER, folder.toString());
      return HuggingFaceTokenizer.newInstance(file, options);
    } finally {
      System.clearProperty(NATIVE_CODE_FOLDER);
      deleteTree(folder);
    }
  }

  /** The inputs for one sentence: batch 1, as many tokens as it takes, no padding. */
  public List<Tensor> sentence(String sentence) {
    Encoding encoding = tokenizer.encode(sentence);
    return inputs(encoding.getIds(), encoding.getAttentionMask(), encoding.getTypeIds());
  }

  /**
   * The inputs for a passage cut to exactly so many tokens, its beginning and end marks included.
   *
   * @param count 3 to {@value #MAXIMUM_TOKENS}
   */
  public List<Tensor> passage(int count) {
    if (count < 3 || count > MAXIMUM_TOKENS) {
      throw new IllegalArgumentException(
          "a passage has 3 to " + MAXIMUM_TOKENS + " tokens, not " + count);
    }
    long[] all = tokenizer.encode(PASSAGE.repeat(1 + count / 20)).getIds();
    long[] ids = Arrays.copyOf(all, count);
    ids[count - 1] = all[all.length - 1];
    long[] mask = new long[count];
    Arrays.fill(mask, 1);
    return inputs(ids, mask, new long[count]);
  }

  private static List<Tensor> inputs(long[] ids, long[] mask, long[] types) {
    return List.of(
        Tensor.of("input_ids", ids, 1, ids.length),
        Tensor.of("attention_mask", mask, 1, ids.length),
        Tensor.of("token_type_ids", types, 1, ids.length));
  }

  @Override
  public void close() {
    tokenizer.close();
  }

  private static void deleteTree(Path folder) throws IOException {
    try (var paths = Files.walk(folder)) {
      for (Path path : paths.toList().reversed()) {
        Files.delete(path);
      }
    }
  }
}
