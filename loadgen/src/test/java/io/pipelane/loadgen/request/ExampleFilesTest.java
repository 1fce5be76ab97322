package io.pipelane.loadgen.request;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import io.pipelane.loadgen.file.FilesRead;
import io.pipelane.loadgen.request.InputSettings.Format;
import io.pipelane.loadgen.request.InputSettings.Values;
import io.pipelane.loadgen.settings.ModelRequests;
import io.pipelane.loadgen.settings.Response;
import io.pipelane.loadgen.settings.ResponseCheck;
import java.io.ByteArrayInputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.ZipInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExampleFilesTest {
  private static final ModelMetadata MODEL =
      new ModelMetadata(
          "m",
          List.of(
              new TensorMetadata("x", "FP32", List.of(-1L, 2L)),
              new TensorMetadata("ids", "INT64", List.of(2L))),
          List.of(new TensorMetadata("y", "FP32", List.of(2L))));

  @TempDir private Path folder;

  @Test
  void read_perfAnalyzersJson_aRequestForEachExample() throws Exception {
    Path file = folder.resolve("examples.json");
    Files.writeString(
        file,
        """
        {"data": [
          {"x": {"content": [1, 2, 3, 4], "shape": [2, 2]}, "ids": [[7], [8]]},
          {"x": {"b64": "AACAPwAAAEA="}, "ids": [9007199254740993, -1]}],
         "validation_data": [{"y": [1, 2]}]}
        """);

    List<Example> examples =
        new ExampleFiles(InputFiles.at(file), Map.of(), new FilesRead()).read(MODEL);

    assertEquals(List.of(2L, 2L), examples.get(0).inputs().get(0).shape());
    ByteBuffer bytes = examples.get(1).inputs().get(0).data();
    assertEquals(1, bytes.getFloat());
    assertEquals(2, bytes.getFloat());
    assertEquals(9007199254740993L, examples.get(1).inputs().get(1).data().getLong());
    assertEquals("y", examples.get(0).expected().getFirst().name());
    assertEquals(List.of(), examples.get(1).expected());
  }

  /** A server that is not to be trusted would get any file of the right length otherwise. */
  @Test
  void read_inputNamedByTheServerLeadsOut_refused() throws Exception {
    Path inputs = Files.createDirectory(folder.resolve("inputs"));
    Files.write(folder.resolve("secret"), new byte[2]);
    for (String name : List.of("../secret", folder.resolve("secret").toString())) {
      ModelMetadata model =
          new ModelMetadata(
              "m", List.of(new TensorMetadata(name, "UINT8", List.of(2L))), List.of());
      ExampleFiles files = new ExampleFiles(InputFiles.at(inputs), Map.of(), new FilesRead());

      StatusException refused = assertThrows(StatusException.class, () -> files.read(model));

      assertTrue(refused.toString().contains("leads out of"), refused.toString());
    }
  }

  @Test
  void read_folder_numpyAndBareBytes() throws Exception {
    TensorValue x = new TensorValue("x", Datatype.FP32, List.of(1L, 2L), floats(0.5f, -3));
    Files.write(folder.resolve("x.npy"), NumpyFile.write(x));
    Files.write(
        folder.resolve("ids"),
        ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN).putLong(5).putLong(6).array());

    Example example =
        new ExampleFiles(InputFiles.at(folder), Map.of(), new FilesRead()).read(MODEL).getFirst();

    assertEquals(x, example.inputs().get(0));
    assertEquals(6, example.inputs().get(1).data().getLong(8));
  }

  /** What {@code numpy.save} writes for {@code numpy.array([[1, 2]], dtype="<i8")}. */
  @Test
  void read_numpysOwnBytes_theArray() {
    String header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }";
    byte[] file =
        ByteBuffer.allocate(128 + 16)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0})
            .put(
                (header + " ".repeat(117 - header.length()) + "\n")
                    .getBytes(StandardCharsets.US_ASCII))
            .putLong(1)
            .putLong(2)
            .array();

    TensorValue tensor = NumpyFile.read("ids", file);

    assertEquals(List.of(1L, 2L), tensor.shape());
    assertEquals(2, tensor.data().getLong(8));
    assertArrayEquals(file, NumpyFile.write(tensor));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{\"data\": []}",
        "{\"data\": [{\"x\": [1, 2]}]}",
        "{\"data\": [{\"x\": [1, 2, 3], \"ids\": [1, 2]}]}",
        "{\"data\": [{\"x\": [\"a\", \"b\"], \"ids\": [1, 2]}]}",
        "not JSON"
      })
  void read_jsonThatDoesNotFit_refused(String json) throws Exception {
    Path file = folder.resolve("examples.json");
    Files.writeString(file, json);

    StatusException refused =
        assertThrows(
            StatusException.class,
            () -> new ExampleFiles(InputFiles.at(file), Map.of(), new FilesRead()).read(MODEL));

    assertTrue(refused.toString().contains("--input-data"), refused.toString());
  }

  @Test
  void check_answers_comparedWithWhatTheExampleExpects() throws Exception {
    Path file = folder.resolve("m.json");
    Files.writeString(
        file,
        """
        {"data": [{"x": [1, 2], "ids": [1, 2]}], "validation_data": [{"y": [3, 4]}]}
        """);
    RequestGenerator generator = new RequestGenerator(settings(Format.BINARY));
    generator.generate(MODEL);
    ResponseCheck check = generator.check(1e-2);

    assertEquals(Optional.empty(), check.complaint(binary(3, 4.01f)));
    assertEquals(
        Optional.of("output \"y\" is off by 2.00e-01 of its size, 1.00e-02 is allowed"),
        check.complaint(binary(3, 5)));
    assertEquals(
        Optional.empty(),
        check.complaint(
            json("{\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"data\":[3,4]}]}")));
    assertEquals(Optional.of("output \"y\" is missing"), check.complaint(json("{\"outputs\":[]}")));
    assertTrue(check.complaint(json("oops")).orElse("").contains("cannot be read"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"y\": [NaN, -Infinity]}",
        "{\"y\": [\"NaN\", \"-Infinity\"]}",
        "{\"y\": {\"b64\": \"AADAfwAAgP8=\"}}",
      })
  void check_noNumbersAndInfinities_equalOnlyThemselves(String expected) throws Exception {
    Path file = folder.resolve("m.json");
    Files.writeString(
        file,
        "{\"data\": [{\"x\": [1, 2], \"ids\": [1, 2]}], \"validation_data\": [%s]}"
            .formatted(expected));
    RequestGenerator generator = new RequestGenerator(settings(Format.BINARY));
    generator.generate(MODEL);
    ResponseCheck check = generator.check(1e-2);

    assertEquals(Optional.empty(), check.complaint(binary(Float.NaN, Float.NEGATIVE_INFINITY)));
    assertEquals(
        Optional.of("output \"y\" is Infinity at element 1, -Infinity is expected"),
        check.complaint(binary(Float.NaN, Float.POSITIVE_INFINITY)));
    assertEquals(
        Optional.of("output \"y\" is 3.0 at element 0, NaN is expected"),
        check.complaint(binary(3, Float.NEGATIVE_INFINITY)));
    assertEquals(
        Optional.of("output \"y\" is NaN at element 1, -Infinity is expected"),
        check.complaint(
            json("{\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"data\":[null,null]}]}")));
  }

  @Test
  void check_noNumberWhereOneIsExpected_isAComplaint() throws Exception {
    Path file = folder.resolve("m.json");
    Files.writeString(
        file,
        "{\"data\": [{\"x\": [1, 2], \"ids\": [1, 2]}], \"validation_data\": [{\"y\": [0, 4]}]}");
    RequestGenerator generator = new RequestGenerator(settings(Format.BINARY));
    generator.generate(MODEL);
    ResponseCheck check = generator.check(1e9);

    assertEquals(
        Optional.of("output \"y\" is NaN at element 1, 4.0 is expected"),
        check.complaint(binary(0, Float.NaN)));
    assertEquals(
        Optional.of("output \"y\" is Infinity at element 0, 0.0 is expected"),
        check.complaint(binary(Float.POSITIVE_INFINITY, 4)));
  }

  @Test
  void generate_djl_archiveOfArraysForItsOwnRoute() throws Exception {
    Path file = folder.resolve("m.json");
    Files.writeString(file, "{\"data\": [{\"x\": [1, 2], \"ids\": [3, 4]}]}");

    ModelRequests requests = new RequestGenerator(settings(Format.DJL)).generate(MODEL);

    assertEquals("/predictions/m", requests.path());
    byte[] body = new byte[requests.variants().getFirst().body().remaining()];
    requests.variants().getFirst().body().get(body);
    try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(body))) {
      assertEquals("x.npy", zip.getNextEntry().getName());
      zip.readAllBytes();
      assertEquals("ids.npy", zip.getNextEntry().getName());
      assertEquals(4, NumpyFile.read("ids", zip.readAllBytes()).data().getLong(8));
    }
  }

  private InputSettings settings(Format format) {
    return new InputSettings(Values.RANDOM, InputFiles.at(folder), format, Map.of(), 0, 0, 9, 1);
  }

  private static Response binary(float... values) {
    byte[] head =
        """
        {"outputs":[{"name":"y","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}}]}
        """
            .getBytes(StandardCharsets.UTF_8);
    ByteBuffer body = ByteBuffer.allocate(head.length + 8).put(head).put(floats(values)).flip();
    return new Response(0, 0, 0, 200, head.length, body);
  }

  private static Response json(String body) {
    return new Response(0, 0, 0, 200, -1, ByteBuffer.wrap(body.getBytes(StandardCharsets.UTF_8)));
  }

  private static ByteBuffer floats(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return bytes.flip();
  }
}
