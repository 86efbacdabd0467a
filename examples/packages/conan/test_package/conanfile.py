# Builds the project of examples/template with the package and runs its test, then a program of the
# package's and pkg-config.
import shutil

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.gnu import PkgConfig


class Template(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "PkgConfigDeps", "VirtualRunEnv"
    test_type = "explicit"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        self.folders.root = "../../../.."
        cmake_layout(self, src_folder="examples/template", build_folder="build/conan_test")

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.user_presets_path = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        belfry = self.dependencies["belfry"]
        if can_run(self):
            CMake(self).ctest(["--no-tests=error", "--output-on-failure"])
            if belfry.options.programs:
                self.run("belfry-ckpt --version", env="conanrun")
        if not shutil.which("pkg-config"):
            self.output.warning("pkg-config is not installed: it was not asked for belfry")
            return
        found = PkgConfig(self, "belfry", self.generators_folder)
        if found.version != str(belfry.ref.version) or found.libs != ["belfry"]:
            raise ConanException(f"pkg-config finds belfry {found.version} with the libraries {found.libs}")
