package io.pipelane.loadgen.request;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import java.awt.image.BufferedImage;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PictureExamplesTest {
  private static final int RED = 0xFF0000;
  private static final int BLUE = 0x0000FF;

  @TempDir private Path folder;
  private Path file = Path.of("picture.png");

  @BeforeEach
  void drawTwoPixels() throws Exception {
    file = folder.resolve("picture.png");
    BufferedImage picture = new BufferedImage(2, 1, BufferedImage.TYPE_INT_RGB);
    picture.setRGB(0, 0, RED);
    picture.setRGB(1, 0, BLUE);
    ImageIO.write(picture, "png", file.toFile());
  }

  @Test
  void read_openSize_planesOfThePictureItself() throws Exception {
    TensorValue value = read(model("FP32", -1L, 3L, -1L, -1L), "0.5:0.5").getFirst();

    assertEquals(List.of(1L, 3L, 1L, 2L), value.shape());
    assertEquals(List.of(1f, -1f, -1f, -1f, -1f, 1f), floats(value));
  }

  @Test
  void read_coloursLast_pixelsOfThreeBytes() throws Exception {
    TensorValue value = read(model("UINT8", 1L, -1L, -1L, 3L), "0:1").getFirst();

    assertEquals(List.of(1L, 1L, 2L, 3L), value.shape());
    byte[] bytes = new byte[6];
    value.data().get(bytes);
    assertArrayEquals(new byte[] {-1, 0, 0, 0, 0, -1}, bytes);
  }

  @Test
  void read_oneColourAndAFixedSize_greyAndStretched() throws Exception {
    TensorValue value = read(model("FP32", -1L, 1L, 2L, 4L), "0:1").getFirst();

    assertEquals(List.of(1L, 1L, 2L, 4L), value.shape());
    assertEquals(76 / 255f, floats(value).getFirst(), 1e-6);
    assertEquals(29 / 255f, floats(value).getLast(), 1e-6);
  }

  @Test
  void read_shapeWithABatch_pictureRepeated() throws Exception {
    ModelMetadata model = model("FP32", -1L, 3L, -1L, -1L);
    Map<String, List<Long>> shapes = Map.of("x", List.of(2L, 3L, 1L, 2L));
    Example example = new PictureExamples(shapes, Pixels.UNIT).read(model, file);

    List<Float> values = floats(example.inputs().getFirst());
    assertEquals(12, values.size());
    assertEquals(values.subList(0, 6), values.subList(6, 12));
  }

  @Test
  void read_modelOfNumbers_refused() {
    StatusException refused =
        assertThrows(StatusException.class, () -> read(model("FP32", -1L, 10L), "0:1"));

    assertTrue(refused.toString().contains("do not fit model \"m\""), refused.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "1", "1:0", "1,2:1", "a:b", "1:2:3"})
  void parse_noMeanAndDeviation_refused(String text) {
    assertThrows(IllegalArgumentException.class, () -> Pixels.parse(text));
  }

  private List<TensorValue> read(ModelMetadata model, String pixels) throws Exception {
    return new PictureExamples(Map.of(), Pixels.parse(pixels)).read(model, file).inputs();
  }

  private static ModelMetadata model(String type, Long... shape) {
    return new ModelMetadata(
        "m", List.of(new TensorMetadata("x", type, List.of(shape))), List.of());
  }

  private static List<Float> floats(TensorValue value) {
    ByteBuffer data = value.data();
    List<Float> floats = new ArrayList<>();
    while (data.hasRemaining()) {
      floats.add(data.getFloat());
    }
    return floats;
  }
}
