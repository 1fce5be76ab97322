package io.pipelane.loadgen.request;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TextExamplesTest {
  /** Words at spaces; unknown ones are 0. */
  private static final String TOKENIZER =
      """
      {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
       "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
       "post_processor": null, "decoder": null,
       "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "who": 7, "waits": 8}, "unk_token": "[UNK]"}}
      """;

  @TempDir private Path folder;

  @BeforeEach
  void writeTexts() throws Exception {
    Files.writeString(folder.resolve("m.txt"), "Who waits\n\nwaits for who\n");
    Files.writeString(folder.resolve("tokenizer.json"), TOKENIZER);
  }

  @Test
  void read_encoder_tokensOfEachLine() {
    List<Example> examples = read(encoder("INT64", -1), Map.of());

    assertEquals(2, examples.size());
    assertEquals(List.of(1L, 2L), examples.get(0).inputs().get(0).shape());
    assertEquals(List.of(7L, 8L), longs(examples.get(0).inputs().get(0)));
    assertEquals(List.of(8L, 0L, 7L), longs(examples.get(1).inputs().get(0)));
    assertEquals(List.of(1L, 1L, 1L), longs(examples.get(1).inputs().get(1)));
    assertEquals(List.of(0L, 0L, 0L), longs(examples.get(1).inputs().get(2)));
  }

  @Test
  void read_shapeAskedFor_cutOrFilledUp() {
    Map<String, List<Long>> shapes =
        Map.of(
            "input_ids", List.of(1L, 3L),
            "attention_mask", List.of(1L, 3L),
            "token_type_ids", List.of(1L, 3L));
    List<Example> examples = read(encoder("INT64", -1), shapes);

    assertEquals(List.of(7L, 8L, 0L), longs(examples.get(0).inputs().get(0)));
    assertEquals(List.of(1L, 1L, 0L), longs(examples.get(0).inputs().get(1)));
  }

  @Test
  void read_modelOfStrings_linesAsTheyAre() {
    ModelMetadata model =
        new ModelMetadata(
            "m", List.of(new TensorMetadata("text", "BYTES", List.of(-1L, 1L))), List.of());
    TensorValue value = read(model, Map.of()).getFirst().inputs().getFirst();

    assertEquals(List.of(1L, 1L), value.shape());
    assertEquals(9, value.data().getInt());
    assertEquals(13, value.data().remaining());
  }

  @Test
  void read_modelOfNumbersOrNoTokenizer_refused() throws Exception {
    assertTrue(refusal(encoder("FP32", -1)).contains("tokens are INT64 or INT32"));
    Files.delete(folder.resolve("tokenizer.json"));
    assertTrue(refusal(encoder("INT64", -1)).contains("--tokenizer"));
  }

  private String refusal(ModelMetadata model) {
    return assertThrows(StatusException.class, () -> read(model, Map.of())).toString();
  }

  private List<Example> read(ModelMetadata model, Map<String, List<Long>> shapes) {
    return new ExampleFiles(InputFiles.at(folder), shapes, new FilesRead()).read(model);
  }

  private static ModelMetadata encoder(String type, long length) {
    return new ModelMetadata(
        "m",
        Stream.of("input_ids", "attention_mask", "token_type_ids")
            .map(name -> new TensorMetadata(name, type, List.of(-1L, length)))
            .toList(),
        List.of());
  }

  private static List<Long> longs(TensorValue value) {
    List<Long> longs = new ArrayList<>();
    ByteBuffer data = value.data();
    while (data.hasRemaining()) {
      longs.add(data.getLong());
    }
    return longs;
  }
}
