package io.pipelane.bench.start;

import io.pipelane.demo.Questions;
import io.pipelane.demo.input.Rectangle;
import io.pipelane.demo.input.TextPage;
import io.pipelane.demo.model.DemoModel;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;

/** Texts and pictures for the demo's models, laid out as {@code --input-data} reads them. */
final class SampleInputs {
  private SampleInputs() {}

  /** Writes what a model can be asked into the folder of its name. */
  static void write(Path inputs, DemoModel model) throws IOException {
    Path folder = Files.createDirectories(inputs.resolve(model.modelName()));
    switch (model) {
      case MINILM, MINILM_Q, BGE_SMALL_Q -> {
        List<String> lines = new ArrayList<>(List.of(Questions.SENTENCE));
        lines.addAll(Questions.CANDIDATES);
        Files.write(folder.resolve("sentences.txt"), lines);
        try (InputStream tokenizer = model.openTokenizer()) {
          Files.copy(
              tokenizer, folder.resolve("tokenizer.json"), StandardCopyOption.REPLACE_EXISTING);
        }
      }
      case PPOCR_DET -> picture(folder.resolve("page.png"), page());
      case PPOCR_CLS, PPOCR_REC -> picture(folder.resolve("line.png"), part(TextPage.LINE));
    }
  }

  private static BufferedImage page() throws IOException {
    try (InputStream file = TextPage.open()) {
      return ImageIO.read(file);
    }
  }

  private static BufferedImage part(Rectangle part) throws IOException {
    return page().getSubimage(part.x(), part.y(), part.width(), part.height());
  }

  private static void picture(Path file, BufferedImage picture) throws IOException {
    ImageIO.write(picture, "png", file.toFile());
  }
}
