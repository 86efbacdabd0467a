# Belfry as a package of Conan 2: ../README.md says how it is used.
import re
import subprocess
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

# From this folder. An exported recipe has no tree around it: it takes along what it reads.
TREE = Path("../../..")
COMPONENTS = ("cuda", "mpi", "snappy")


class Belfry(ConanFile):
    name = "belfry"
    description = "Estimator-style training of neural networks in C++20"
    license = "Apache-2.0"
    topics = ("machine-learning", "deep-learning", "training")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {name: [True, False] for name in ("programs", *(f"with_{c}" for c in COMPONENTS))}
    default_options = {"programs": True, **{f"with_{c}": False for c in COMPONENTS}}

    def set_version(self):
        header = load(self, self.recipe_path / TREE / "framework/base/version.h")
        self.version = re.search(r'BELFRY_VERSION "([0-9.]+)"', header)[1]

    def export(self):
        copy(self, "packages.sh", self.recipe_path / TREE / "examples/common", self.export_folder)

    def export_sources(self):
        folders = ("framework", "data", "hooks", "models", "examples", "docs")
        for pattern in ("CMakeLists.txt", "LICENSE", *(f"{folder}/*" for folder in folders)):
            copy(self, pattern, self.recipe_path / TREE, self.export_sources_folder)

    def configure(self):
        # Belfry's CMake asks for C++20, here and in programs, whatever a profile prefers.
        self.settings.rm_safe("compiler.cppstd")

    def system_requirements(self):
        # The packages with which Belfry is tested. What is missing elsewhere, or of CUDA, CMake says.
        script = self.recipe_path / "packages.sh"
        if not script.exists():
            script = self.recipe_path / TREE / "examples/common/packages.sh"
        lists = ["library"] + [c for c in ("mpi", "snappy") if getattr(self.options, f"with_{c}")]
        echo = "echo " + " ".join(f"${{belfry_{name}_packages[@]}}" for name in lists)
        names = subprocess.check_output(["bash", "-c", f"source '{script}' && {echo}"], text=True)
        Apt(self).install(names.split())

    def layout(self):
        self.folders.root = TREE
        # Where the preset `release` builds: `conan export-pkg` takes what it finds there.
        self.folders.build = "build/release"
        self.folders.generators = "build/conan"

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.user_presets_path = False
        toolchain.cache_variables["BELFRY_BUILD_TESTS"] = False
        toolchain.cache_variables["BELFRY_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["BELFRY_BUILD_PROGRAMS"] = bool(self.options.programs)
        for component in COMPONENTS:
            wanted = bool(getattr(self.options, f"with_{component}"))
            toolchain.cache_variables[f"BELFRY_{component.upper()}"] = wanted
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["belfry"]
        # The package's own CMake files are found, which know its components.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("cmake_file_name_variants", ["Belfry"])
        self.cpp_info.builddirs = ["lib/cmake/belfry"]
