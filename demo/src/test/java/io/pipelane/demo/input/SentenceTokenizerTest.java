package io.pipelane.demo.input;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.demo.model.DemoModel;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.modelstore.ChildJvm;
import io.pipelane.runtime.Shape;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("others that open a tokenizer have files there meanwhile")
class SentenceTokenizerTest {
  private static final long BEGIN = 101;
  private static final long END = 102;

  @Test
  void sentence_isTokenisedWithoutPadding() throws Exception {
    try (SentenceTokenizer tokenizer = new SentenceTokenizer(DemoModel.MINILM)) {
      List<Tensor> inputs = tokenizer.sentence("Any model, any time.");

      assertEquals(
          List.of("input_ids", "attention_mask", "token_type_ids"),
          inputs.stream().map(Tensor::name).toList());
      assertEquals(Shape.of(1, 8), inputs.getFirst().shape());
      assertArrayEquals(
          new long[] {BEGIN, 2151, 2944, 1010, 2151, 2051, 1012, END}, inputs.getFirst().longs());
      assertArrayEquals(new long[] {1, 1, 1, 1, 1, 1, 1, 1}, inputs.get(1).longs());
      assertArrayEquals(new long[8], inputs.get(2).longs());
    }
  }

  @Test
  void passage_hasExactlyTheTokensAskedFor() throws Exception {
    try (SentenceTokenizer tokenizer = new SentenceTokenizer(DemoModel.BGE_SMALL_Q)) {
      for (int count : new int[] {3, 16, 128, SentenceTokenizer.MAXIMUM_TOKENS}) {
        long[] ids = tokenizer.passage(count).getFirst().longs();
        assertEquals(count, ids.length);
        assertEquals(BEGIN, ids[0]);
        assertEquals(END, ids[count - 1]);
      }
      assertThrows(IllegalArgumentException.class, () -> tokenizer.passage(513));
    }
  }

  /** Opens a tokenizer and says why it cannot. */
  public static final class Opened {
    private Opened() {}

    public static void main(String[] arguments) throws IOException {
      try {
        new SentenceTokenizer(DemoModel.MINILM_Q).close();
      } catch (StatusException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  @Test
  void temporaryFolderWithoutRoom_isNamedWithWhatToDo(@TempDir Path folder) throws Exception {
    assertSays("NoSuchFileException", "", folder.resolve("nowhere"));
    assertSays("EngineException", "ulimit -f 2048;", folder);
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(List.of(), left.toList());
    }
  }

  private static void assertSays(String reason, String shell, Path temporary) throws Exception {
    Process process =
        ChildJvm.program(
                shell + "exec \"$@\"",
                List.of(),
                List.of("-Djava.io.tmpdir=" + temporary),
                Opened.class,
                List.of())
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
    String last = said.lines().toList().getLast();
    assertTrue(last.contains("cannot be unpacked to " + temporary + " and loaded"), said);
    assertTrue(last.contains(reason) && last.contains("-Djava.io.tmpdir=FOLDER"), said);
    assertFalse(said.contains("\tat "), said);
  }

  @Test
  void tokenizer_leavesNoFilesBehind() throws Exception {
    new SentenceTokenizer(DemoModel.MINILM_Q).close();
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      assertEquals(
          0, files.filter(f -> f.getFileName().toString().startsWith("pipelane-tok")).count());
    }
  }
}
